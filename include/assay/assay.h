/* Launches tuned kernels from a pack, which `assay export --format pack` makes.
 *
 *   assay_open -> assay_plan_create -> assay_prepare -> assay_workspace_bytes -> assay_launch
 *
 * No function throws, and there is no global state. All but assay_close and assay_plan_release may
 * be called from several threads at once. assay_launch does not allocate, lock or read files, and
 * can be captured into a graph. Of a fallback, what cuBLASLt does is cuBLASLt's. docs/runtime.md
 * explains the functions with an example.
 *
 * Functions that can fail return a status. If `error` is not null, its text says what went wrong.
 * The first member of a struct is its size in bytes, which the caller sets: a later version of this
 * header may have more members.
 */
#ifndef ASSAY_ASSAY_H_
#define ASSAY_ASSAY_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ASSAY_API __attribute__((visibility("default")))
#else
#define ASSAY_API
#endif

typedef enum assay_status {
  ASSAY_OK = 0,
  ASSAY_INVALID_ARGUMENT = 1, /* a null pointer, an unknown name, a pointer that is not aligned */
  ASSAY_BAD_PACK = 2,         /* the file cannot be read, is damaged, or has another version */
  ASSAY_NOTHING_FITS = 3,     /* no configuration of the pack can be launched for these sizes */
  ASSAY_NO_DRIVER = 4,        /* no NVIDIA driver, or no GPU of this number */
  ASSAY_CAPTURING = 5,        /* code is to be loaded while a stream is captured */
  ASSAY_NOT_PREPARED = 6,     /* assay_prepare has not been called for this plan */
  ASSAY_CUDA_ERROR = 7,       /* a call of the driver or of cuBLASLt failed */
  ASSAY_OUT_OF_MEMORY = 8,    /* of the host */
  ASSAY_INTERNAL_ERROR = 9
} assay_status;

typedef struct assay_error {
  char text[512]; /* ends with a zero */
} assay_error;

typedef struct assay_pack assay_pack;
/* What to launch for one op and problem on one GPU. It never changes, and threads may share it. */
typedef struct assay_plan assay_plan;

/* A size or a trait of the problem: {"M", 4096}. Sizes are integers. */
typedef struct assay_number {
  const char* name;
  double value;
} assay_number;

typedef struct assay_request {
  size_t struct_bytes;
  const char* op; /* "gemm_bf16" */
  const assay_number* numbers;
  size_t num_numbers;
  int device; /* as CUDA counts them; -1: that of the current context, else 0 */
  /* A configuration of another problem is taken where it is no further away: the product over the
   * sizes of the larger over the smaller. 0: 16. 1: only configurations of this very problem, or
   * the default, or the fallback. */
  double most_factor;
} assay_request;

typedef enum assay_match {
  ASSAY_EXACT = 0,   /* tuned for this problem on this model of GPU */
  ASSAY_NEAR = 1,    /* tuned for a problem that is near, or on another model */
  ASSAY_DEFAULT = 2, /* the configuration that loses least over all problems, or any that fits */
  ASSAY_FALLBACK = 3 /* cuBLASLt, of which nobody measured that it is slower */
} assay_match;

/* How a plan was chosen. The texts live as long as the plan. */
typedef struct assay_how {
  size_t struct_bytes;
  assay_match match;
  double factor;             /* how far the problem is from the one that was tuned; 1: the same */
  const char* why;           /* why it is not exact; empty if it is */
  const char* kernel;        /* "gemm_wgmma"; "cublasLtMatmul" */
  const char* configuration; /* "BLOCK_M=128,BLOCK_N=256" */
  const char* problem;       /* that was tuned: "M=4096,N=4096,K=4096" */
  const char* gpu;           /* on which it was tuned */
  double time_ns;            /* measured there; of a fallback the baseline's */
  const char* baseline;      /* the fastest one measured beside it; empty if there was none */
  double baseline_ns;
  /* Of a near configuration: its time over the least of any, for the worst of the tuned problems
   * around its own. 0: not measured. */
  double regret;
} assay_how;

typedef enum assay_role {
  ASSAY_IN = 0,
  ASSAY_OUT = 1,
  ASSAY_INOUT = 2,   /* updated in place */
  ASSAY_CONSUMED = 3 /* an input that is overwritten */
} assay_role;

/* An argument that the caller passes: the address of a tensor on the GPU. It is dense, with the
 * last dimension contiguous, and begins at a multiple of 16 bytes. */
typedef struct assay_argument {
  size_t struct_bytes;
  const char* name;  /* "A" */
  const char* dtype; /* "bf16" */
  assay_role role;
  size_t rank;
  int64_t shape[8];
  size_t bytes;
} assay_argument;

/* "ASSAY_OK" */
ASSAY_API const char* assay_status_name(assay_status status);
/* "0.1.0" */
ASSAY_API const char* assay_version(void);

ASSAY_API assay_status assay_open(const char* path, assay_pack** pack, assay_error* error);
/* Plans outlive their pack. Null is ignored. */
ASSAY_API void assay_close(assay_pack* pack);
/* The ops of the pack; null behind the last. The text lives as long as the pack. */
ASSAY_API const char* assay_op(const assay_pack* pack, size_t index);

/* Chooses what to launch. What was chosen before is remembered. */
ASSAY_API assay_status assay_plan_create(assay_pack* pack, const assay_request* request,
                                         assay_plan** plan, assay_error* error);
ASSAY_API void assay_plan_release(assay_plan* plan);

ASSAY_API assay_status assay_plan_how(const assay_plan* plan, assay_how* how);
ASSAY_API size_t assay_num_arguments(const assay_plan* plan);
ASSAY_API assay_status assay_plan_argument(const assay_plan* plan, size_t index,
                                           assay_argument* argument);
/* Memory on the GPU that a launch writes, and whose content nobody needs afterwards. It begins at a
 * multiple of 256 bytes. Launches that may overlap need workspaces of their own. 0: none. */
ASSAY_API size_t assay_workspace_bytes(const assay_plan* plan);
/* Memory on the GPU for inputs in the layout of the kernel, as weights may need. 0: none. */
ASSAY_API size_t assay_prepared_bytes(const assay_plan* plan);

/* 1 if assay_prepare reads the arguments: the plan has prepared memory, or copies an input to a
 * variable of its code. Call assay_prepare again when these inputs change. */
ASSAY_API int assay_prepare_reads(const assay_plan* plan);

/* Loads the machine code, once for each plan. Refused with ASSAY_CAPTURING while the stream, or a
 * blocking stream of the GPU, is captured. If assay_prepare_reads, also enqueues what fills the
 * prepared memory and the variables. Else `arguments` and `prepared` may be null. */
ASSAY_API assay_status assay_prepare(assay_plan* plan, void* stream, void* const* arguments,
                                     size_t num_arguments, void* prepared, assay_error* error);

/* Enqueues the launches, or calls cuBLASLt. `stream` is a CUstream or a cudaStream_t of the plan's
 * GPU, whose context is current. `arguments` are addresses on the GPU, in the order of
 * assay_plan_argument. */
ASSAY_API assay_status assay_launch(const assay_plan* plan, void* stream, void* const* arguments,
                                    size_t num_arguments, void* workspace, void* prepared,
                                    assay_error* error);

#ifdef __cplusplus
}
#endif

#endif /* ASSAY_ASSAY_H_ */
