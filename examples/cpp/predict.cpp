// Predicts a few rows with a compiled model. The loader opens the library by its path and finds its functions,
// also if they were built with another prefix.
//
// In the folder of this file, with a model's file in place of MODEL:
//
//     schedc build MODEL -o libmodel.so
//     schedc build --emit loader
//     c++ -std=c++11 -o predict predict.cpp -ldl
//     ./predict ./libmodel.so
//
// The second command writes schedc.h, which contains the loader.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedc.h"

// A compiled model. The last copy of this object closes it.
class Model {
public:
    explicit Model(const std::string &path)
    {
        char error[512];
        schedc_model *opened = schedc_open(path.c_str(), error, sizeof error);
        if (!opened)
            throw std::runtime_error(error);
        handle = std::shared_ptr<schedc_model>(opened, schedc_close);
    }

    int32_t features() const { return schedc_model_num_features(handle.get()); }

    // Computes an output (such as SCHEDC_VALUE) of packed rows, converted to doubles.
    std::vector<double> call(int32_t kind, const std::vector<float> &rows) const
    {
        const int64_t count = static_cast<int64_t>(rows.size()) / features();
        const int32_t columns = schedc_model_num_outputs(handle.get(), kind);
        const std::size_t numbers = static_cast<std::size_t>(count * columns);
        std::vector<float> single(numbers);
        std::vector<double> wide(numbers);
        const bool is_wide = schedc_model_output_type(handle.get(), kind) == SCHEDC_F64;
        schedc_call call = schedc_call();
        call.size = sizeof call;
        call.kind = kind;
        call.rows = rows.data();
        call.n_rows = count;
        call.out = is_wide ? static_cast<void *>(wide.data()) : single.data();
        const int32_t status = schedc_model_call(handle.get(), &call);
        if (status != SCHEDC_OK)
            throw std::runtime_error(schedc_model_error(handle.get(), status));
        if (!is_wide)
            wide.assign(single.begin(), single.end());
        return wide;
    }

private:
    std::shared_ptr<schedc_model> handle;
};

int main(int argc, char **argv)
{
    try {
        const Model model(argc > 1 ? argv[1] : "./libmodel.so");
        // Numbers made up for a model of any size: feature f of row r is (r + 1) * (f + 1) / 10.
        std::vector<float> rows;
        for (int row = 0; row < 4; row++)
            for (int feature = 0; feature < model.features(); feature++)
                rows.push_back(static_cast<float>((row + 1) * (feature + 1)) / 10);
        for (double value : model.call(SCHEDC_VALUE, rows))
            std::printf("%.6f\n", value);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "predict: %s\n", error.what());
        return 1;
    }
    return 0;
}
