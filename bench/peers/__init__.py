"""One module for each library that ndpool is compared with, all with the same interface:

setup(threads)            once, before anything else
supports(problem, work)   whether the library has that operation at all
prepare(problem, work)    makes the arrays, compiles what is to be compiled, returns a call
to_numpy(result, problem) what the call returned, in the layout of the problem

What a library refuses only when it is called (a type, say) need not be known to `supports`: the
error is noted beside the table. `ndpool` and `limit` have the same interface.
"""

# The packages to install, and how many GB each needs with all that it brings along.
PACKAGES = {
    "numpy": 0.2,
    "matplotlib": 0.3,
    "nanobind": 0.1,
    "scikit-build-core": 0.1,
    "onnx": 0.2,
    "onnxruntime": 0.3,
    "opencv-python-headless": 0.4,
    "scipy": 0.3,
    "scikit-image": 0.4,
    "mygrad": 0.3,
    "openvino": 0.6,
    "jax": 0.8,
    "tensorflow-cpu": 2.5,
    "torch": 8.0,
}

# Module here: the package whose version is shown.
PEERS = {
    "torch": "torch",
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "jax": "jax",
    "tensorflow": "tensorflow-cpu",
    "opencv": "opencv-python-headless",
    "scipy": "scipy",
    "skimage": "scikit-image",
    "mygrad": "mygrad",
    "numpy": "numpy",
}
