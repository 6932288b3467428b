"""Launches tuned CUDA kernels from a pack, which `assay export --format pack` makes.

    pack = assay.Pack("gemm.pack")
    plan = pack.plan("gemm_bf16", M=16, N=4096, K=4096)
    workspace = torch.empty(plan.workspace_bytes, dtype=torch.uint8, device="cuda")
    plan.prepare()
    plan.launch(a, b, c, workspace=workspace, stream=torch.cuda.current_stream())

A tensor is anything with DLPack or `__cuda_array_interface__`, or the address of one. The functions
of libassay.so are called by ctypes; nothing is compiled.
"""

import ctypes
import os
import sys
from ctypes import (POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_int32, c_int64,
                    c_size_t, c_uint8, c_uint16, c_uint64, c_void_p, sizeof)

__all__ = ["Pack", "Plan", "CallError", "version"]


class _Error(Structure):
    _fields_ = [("text", c_char * 512)]


class _Number(Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class _Request(Structure):
    _fields_ = [("struct_bytes", c_size_t), ("op", c_char_p), ("numbers", POINTER(_Number)),
                ("num_numbers", c_size_t), ("device", c_int), ("most_factor", c_double)]


class _How(Structure):
    _fields_ = [("struct_bytes", c_size_t), ("match", c_int), ("factor", c_double),
                ("why", c_char_p), ("kernel", c_char_p), ("configuration", c_char_p),
                ("problem", c_char_p), ("gpu", c_char_p), ("time_ns", c_double),
                ("baseline", c_char_p), ("baseline_ns", c_double), ("regret", c_double)]


class _Argument(Structure):
    _fields_ = [("struct_bytes", c_size_t), ("name", c_char_p), ("dtype", c_char_p),
                ("role", c_int), ("rank", c_size_t), ("shape", c_int64 * 8), ("bytes", c_size_t)]


class _DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


_DL_CUDA = (2, 13)  # memory of the GPU, and memory that both share
_DL_CODES = {"i": 0, "u": 1, "f": 2, "bf": 4}


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    named = os.environ.get("ASSAY_LIBRARY")
    installed = os.path.join(sys.prefix, "lib", "libassay.so.0")  # by a wheel that holds it
    places = [named] if named else [os.path.join(here, "libassay.so.0"), installed,
                                    "libassay.so.0"]
    failures = []
    for place in places:
        try:
            return ctypes.CDLL(place)
        except OSError as error:
            failures.append(str(error))
    raise ImportError("cannot load libassay.so.0: %s; install assay, or set ASSAY_LIBRARY to the "
                      "file" % "; ".join(failures))


_lib = _load()
_lib.assay_status_name.restype = c_char_p
_lib.assay_version.restype = c_char_p
_lib.assay_op.restype = c_char_p
_lib.assay_op.argtypes = [c_void_p, c_size_t]
_lib.assay_open.argtypes = [c_char_p, POINTER(c_void_p), POINTER(_Error)]
_lib.assay_close.argtypes = [c_void_p]
_lib.assay_plan_create.argtypes = [c_void_p, POINTER(_Request), POINTER(c_void_p), POINTER(_Error)]
_lib.assay_plan_release.argtypes = [c_void_p]
_lib.assay_plan_how.argtypes = [c_void_p, POINTER(_How)]
_lib.assay_num_arguments.restype = c_size_t
_lib.assay_num_arguments.argtypes = [c_void_p]
_lib.assay_plan_argument.argtypes = [c_void_p, c_size_t, POINTER(_Argument)]
for _name in ("assay_workspace_bytes", "assay_prepared_bytes"):
    getattr(_lib, _name).restype = c_size_t
    getattr(_lib, _name).argtypes = [c_void_p]
_lib.assay_prepare_reads.argtypes = [c_void_p]
_lib.assay_prepare.argtypes = [c_void_p, c_void_p, POINTER(c_void_p), c_size_t, c_void_p,
                               POINTER(_Error)]
_lib.assay_launch.argtypes = [c_void_p, c_void_p, POINTER(c_void_p), c_size_t, c_void_p, c_void_p,
                              POINTER(_Error)]
ctypes.pythonapi.PyCapsule_GetPointer.restype = c_void_p
ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, c_char_p]


class CallError(RuntimeError):
    """A call that failed. `status` is a name such as ASSAY_NOTHING_FITS."""

    def __init__(self, status, text):
        self.status = _lib.assay_status_name(status).decode()
        super().__init__("%s: %s" % (self.status, text))


def _check(status, error):
    if status != 0:
        raise CallError(status, error.text.decode(errors="replace"))


def version():
    return _lib.assay_version().decode()


def _stream(stream):
    """The address of a stream of PyTorch, of CuPy, or of an integer; None is the default stream."""
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return getattr(stream, name)
    return stream


def _is_dense(shape, strides):
    """`strides` counts elements. A dimension of one element has any stride."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def _by_dlpack(tensor):
    try:
        capsule = tensor.__dlpack__(stream=-1)  # what the stream holds is the caller's to order
    except TypeError:
        capsule = tensor.__dlpack__()
    # The capsule stays whole, so that its end frees what it owns.
    address = ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor")
    raw = ctypes.cast(address, POINTER(_DLTensor)).contents
    if raw.device_type not in _DL_CUDA:
        raise ValueError("expected a tensor on the GPU, found one on device type %d"
                         % raw.device_type)
    shape = tuple(raw.shape[i] for i in range(raw.ndim))
    dense = not raw.strides or _is_dense(shape, [raw.strides[i] for i in range(raw.ndim)])
    codes = {value: key for key, value in _DL_CODES.items()}
    dtype = "%s%d" % (codes.get(raw.code, "?"), raw.bits)
    return (raw.data or 0) + raw.byte_offset, dtype, shape, dense


def _by_array_interface(tensor):
    interface = tensor.__cuda_array_interface__
    kind, size = interface["typestr"][1], int(interface["typestr"][2:])
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    dense = strides is None or _is_dense(shape, [stride // size for stride in strides])
    return interface["data"][0], "%s%d" % (kind, 8 * size), shape, dense


def _address(tensor, expected=None):
    """The address of a tensor, which is checked against the argument that it is passed for."""
    if tensor is None or isinstance(tensor, int):
        return tensor
    read = _by_dlpack if hasattr(tensor, "__dlpack__") else _by_array_interface
    address, dtype, shape, dense = read(tensor)
    if expected is not None:
        if dtype != expected["dtype"] or shape != expected["shape"] or not dense:
            raise ValueError("%s: expected a dense tensor of %s %s, found %s %s%s" % (
                expected["name"], expected["dtype"], expected["shape"], dtype, shape,
                "" if dense else ", which is not dense"))
    elif not dense:
        raise ValueError("expected dense memory")
    return address


class Plan:
    """What to launch for one problem. Pack.plan makes it."""

    def __init__(self, handle):
        self._handle = handle
        self.workspace_bytes = _lib.assay_workspace_bytes(handle)
        self.prepared_bytes = _lib.assay_prepared_bytes(handle)
        self.prepare_reads = bool(_lib.assay_prepare_reads(handle))
        self.arguments = []
        for i in range(_lib.assay_num_arguments(handle)):
            raw = _Argument(struct_bytes=sizeof(_Argument))
            _lib.assay_plan_argument(handle, i, byref(raw))
            self.arguments.append({
                "name": raw.name.decode(), "dtype": raw.dtype.decode(),
                "role": ("in", "out", "inout", "consumed")[raw.role],
                "shape": tuple(raw.shape[:raw.rank]), "bytes": raw.bytes})

    def __del__(self):
        _lib.assay_plan_release(self._handle)

    def how(self):
        """How the configuration was chosen, as a dict: match, factor, why, kernel, ..."""
        raw = _How(struct_bytes=sizeof(_How))
        _lib.assay_plan_how(self._handle, byref(raw))
        how = {name: getattr(raw, name) for name, _ in _How._fields_[1:]}
        for name, value in how.items():
            if isinstance(value, bytes):
                how[name] = value.decode()
        how["match"] = ("exact", "near", "default", "fallback")[raw.match]
        return how

    def _pointers(self, tensors):
        if len(tensors) not in (0, len(self.arguments)):
            raise TypeError("expected %d tensors (%s), found %d" % (
                len(self.arguments), ", ".join(each["name"] for each in self.arguments),
                len(tensors)))
        addresses = [_address(tensor, each) for tensor, each in zip(tensors, self.arguments)]
        return (c_void_p * max(1, len(addresses)))(*addresses), len(addresses)

    def prepare(self, *tensors, prepared=None, stream=None):
        """Loads the machine code. If `prepare_reads`, also reads the tensors."""
        error = _Error()
        pointers, count = self._pointers(tensors)
        _check(_lib.assay_prepare(self._handle, _stream(stream), pointers, count,
                                  _address(prepared), byref(error)), error)

    def launch(self, *tensors, workspace=None, prepared=None, stream=None):
        """Enqueues the launches. The tensors are in the order of `arguments`."""
        error = _Error()
        pointers, count = self._pointers(tensors)
        _check(_lib.assay_launch(self._handle, _stream(stream), pointers, count,
                                 _address(workspace), _address(prepared), byref(error)), error)


class Pack:
    """An open pack."""

    def __init__(self, path):
        self._handle = c_void_p()
        error = _Error()
        _check(_lib.assay_open(os.fsencode(path), byref(self._handle), byref(error)), error)

    def __del__(self):
        _lib.assay_close(self._handle)

    @property
    def ops(self):
        names = []
        while True:
            name = _lib.assay_op(self._handle, len(names))
            if name is None:
                return names
            names.append(name.decode())

    def plan(self, op, device=-1, most_factor=0.0, **numbers):
        """Chooses what to launch for the sizes and traits: plan("gemm_bf16", M=16, N=64, K=64)."""
        raw = (_Number * max(1, len(numbers)))(
            *[_Number(name.encode(), value) for name, value in numbers.items()])
        request = _Request(sizeof(_Request), op.encode(), raw, len(numbers), device, most_factor)
        handle, error = c_void_p(), _Error()
        _check(_lib.assay_plan_create(self._handle, byref(request), byref(handle), byref(error)),
               error)
        return Plan(handle)
