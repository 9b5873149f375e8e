// Predicts a few rows with a compiled model, through Java's foreign function interface (Java 22 or later).
//
// In the folder of this file, with a model's file in place of MODEL:
//
//     schedc build MODEL -o libmodel.so
//     java --enable-native-access=ALL-UNNAMED Predict.java ./libmodel.so

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Locale;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

public class Predict {
    static final int VALUE = 0;
    static final int F64 = 1;

    public static void main(String[] args) throws Throwable {
        Path path = Path.of(args.length > 0 ? args[0] : "libmodel.so").toAbsolutePath();
        // Closing the arena unloads the library. No call may be running at that time.
        try (Arena arena = Arena.ofShared()) {
            SymbolLookup library = SymbolLookup.libraryLookup(path, arena);
            MethodHandle predict = function(library, "schedc_predict",
                    FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
            MethodHandle error = function(library, "schedc_error", FunctionDescriptor.of(ADDRESS, JAVA_INT));
            FunctionDescriptor ofKind = FunctionDescriptor.of(JAVA_INT, JAVA_INT);
            int features = (int) function(library, "schedc_num_features", FunctionDescriptor.of(JAVA_INT)).invokeExact();
            int columns = (int) function(library, "schedc_num_outputs", ofKind).invokeExact(VALUE);
            boolean wide = (int) function(library, "schedc_output_type", ofKind).invokeExact(VALUE) == F64;

            // Made-up rows for a model of any size: feature f of row r is (r + 1) * (f + 1) / 10.
            int count = 4;
            MemorySegment rows = arena.allocate(JAVA_FLOAT, (long) count * features);
            for (int row = 0; row < count; row++)
                for (int feature = 0; feature < features; feature++)
                    rows.setAtIndex(JAVA_FLOAT, (long) row * features + feature, (row + 1) * (feature + 1) / 10f);
            MemorySegment out = arena.allocate(wide ? JAVA_DOUBLE : JAVA_FLOAT, (long) count * columns);

            int status = (int) predict.invokeExact(rows, (long) count, out);
            if (status != 0) {
                MemorySegment text = (MemorySegment) error.invokeExact(status);
                throw new IllegalStateException(text.reinterpret(Long.MAX_VALUE).getString(0));
            }
            for (long at = 0; at < (long) count * columns; at++) {
                double value = wide ? out.getAtIndex(JAVA_DOUBLE, at) : out.getAtIndex(JAVA_FLOAT, at);
                System.out.printf(Locale.ROOT, "%.6f%n", value);
            }
        }
    }

    static MethodHandle function(SymbolLookup library, String name, FunctionDescriptor type) {
        MemorySegment address = library.find(name).orElseThrow(() -> new IllegalArgumentException("no function " + name));
        return Linker.nativeLinker().downcallHandle(address, type);
    }
}
