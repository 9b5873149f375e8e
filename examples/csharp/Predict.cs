// Predicts a few rows with a compiled model, through platform invocation (P/Invoke).
//
// In the folder of this file, with a model's file in place of MODEL:
//
//     schedc build MODEL -o libmodel.so
//     mcs Predict.cs
//     LD_LIBRARY_PATH=. mono Predict.exe
//
// The file also works unchanged in a .NET project.
using System;
using System.Globalization;
using System.Runtime.InteropServices;

static class Schedc
{
    public const int Value = 0;
    public const int F64 = 1;

    [DllImport("libmodel.so")]
    public static extern int schedc_num_features();

    [DllImport("libmodel.so")]
    public static extern int schedc_num_outputs(int kind);

    [DllImport("libmodel.so")]
    public static extern int schedc_output_type(int kind);

    // Both declarations are of the same function. It writes floats or doubles, as schedc_output_type returns.
    [DllImport("libmodel.so", EntryPoint = "schedc_predict")]
    public static extern int predict_floats([In] float[] rows, long count, [Out] float[] values);

    [DllImport("libmodel.so", EntryPoint = "schedc_predict")]
    public static extern int predict_doubles([In] float[] rows, long count, [Out] double[] values);

    [DllImport("libmodel.so")]
    public static extern IntPtr schedc_error(int status);
}

static class Program
{
    static double[] Predict(float[] rows)
    {
        int count = rows.Length / Schedc.schedc_num_features();
        double[] values = new double[count * Schedc.schedc_num_outputs(Schedc.Value)];
        int status;
        if (Schedc.schedc_output_type(Schedc.Value) == Schedc.F64)
        {
            status = Schedc.predict_doubles(rows, count, values);
        }
        else
        {
            float[] floats = new float[values.Length];
            status = Schedc.predict_floats(rows, count, floats);
            Array.Copy(floats, values, floats.Length);
        }
        if (status != 0)
            throw new InvalidOperationException(Marshal.PtrToStringAnsi(Schedc.schedc_error(status)));
        return values;
    }

    static void Main()
    {
        // Made-up rows for a model of any size: feature f of row r is (r + 1) * (f + 1) / 10.
        int features = Schedc.schedc_num_features();
        float[] rows = new float[4 * features];
        for (int row = 0; row < 4; row++)
            for (int feature = 0; feature < features; feature++)
                rows[row * features + feature] = (row + 1) * (feature + 1) / 10f;
        foreach (double value in Predict(rows))
            Console.WriteLine(value.ToString("F6", CultureInfo.InvariantCulture));
    }
}
