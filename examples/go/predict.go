// Predicts a few rows with a compiled model. The loader opens the library by its path and finds its functions,
// also if they were built with another prefix.
//
// In the folder of this file, with a model's file in place of MODEL:
//
//	schedc build MODEL -o libmodel.so
//	schedc build --emit loader
//	go run predict.go ./libmodel.so
//
// The second command writes schedc.h, which contains the loader. cgo compiles it with the C compiler.
package main

/*
#cgo CFLAGS: -I${SRCDIR}
#cgo LDFLAGS: -ldl
#include "schedc.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"
)

// Model is an open library of a compiled model.
type Model struct {
	handle *C.schedc_model
}

// Open opens a library that schedc built.
func Open(path string) (*Model, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	handle := C.schedc_open(name, &why[0], C.size_t(len(why)))
	if handle == nil {
		return nil, errors.New(C.GoString(&why[0]))
	}
	return &Model{handle}, nil
}

// Close closes the library. No call of the model may be running.
func (m *Model) Close() { C.schedc_close(m.handle) }

// Features returns the number of columns of a row.
func (m *Model) Features() int { return int(C.schedc_model_num_features(m.handle)) }

// Predict returns the predictions of packed rows, row by row.
func (m *Model) Predict(rows []float32) ([]float64, error) {
	count := len(rows) / m.Features()
	numbers := count * int(C.schedc_model_num_outputs(m.handle, C.SCHEDC_VALUE))
	if numbers == 0 {
		return nil, nil
	}
	out := make([]float64, numbers)
	single := make([]float32, numbers)
	wide := C.schedc_model_output_type(m.handle, C.SCHEDC_VALUE) == C.SCHEDC_F64
	place := unsafe.Pointer(&single[0])
	if wide {
		place = unsafe.Pointer(&out[0])
	}
	status := C.schedc_model_predict(m.handle, (*C.float)(unsafe.Pointer(&rows[0])), C.int64_t(count), place)
	if status != C.SCHEDC_OK {
		return nil, errors.New(C.GoString(C.schedc_model_error(m.handle, status)))
	}
	if !wide {
		for at, value := range single {
			out[at] = float64(value)
		}
	}
	return out, nil
}

func run() error {
	path := "./libmodel.so"
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	model, err := Open(path)
	if err != nil {
		return err
	}
	defer model.Close()
	// Made-up rows for a model of any size: feature f of row r is (r + 1) * (f + 1) / 10.
	var rows []float32
	for row := 0; row < 4; row++ {
		for feature := 0; feature < model.Features(); feature++ {
			rows = append(rows, float32((row+1)*(feature+1))/10)
		}
	}
	values, err := model.Predict(rows)
	if err != nil {
		return err
	}
	for _, value := range values {
		fmt.Printf("%.6f\n", value)
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "predict:", err)
		os.Exit(1)
	}
}
