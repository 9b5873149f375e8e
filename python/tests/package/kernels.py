"""Models for GPUs whose kernels are this machine's code. `HOST_KERNELS` is the program that makes the
kernels, and a driver for them."""

import os
import subprocess

import schedc

SCHEDULE = """target gpu(sm_90)
tile(batch, b0, b1, 32)
gpuDimension(b0, grid.x)
gpuDimension(b1, block.x)
"""
PTXAS = "#!/bin/sh\n# ptxas -v -arch=... -o OBJECT SOURCE\ncp {launches} \"$4\"\n"


def compiled(folder, path, patch, *, schedule=SCHEDULE, source=None, **options):
    """The model of a file, or an object that this is the file of, compiled. The folder gets the driver."""
    (folder / "schedule.sched").write_text(schedule)
    subprocess.run([os.environ["HOST_KERNELS"], path, folder / "schedule.sched", folder], check=True)
    ptxas = folder / "ptxas"
    ptxas.write_text(PTXAS.format(launches=folder / "launches.so"))
    ptxas.chmod(0o755)
    patch.setenv("PTXAS", str(ptxas))
    patch.setenv("SCHEDC_CUDA_DRIVER", str(folder / "driver.so"))
    patch.setenv("FAKE_CUDA", "devices:2")
    return schedc.compile(path if source is None else source, schedule, **options)
