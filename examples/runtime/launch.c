/* Launches an op of a pack once: launch_c PACK OP NAME=VALUE...
 *
 * A program has memory on the GPU already. This one asks the driver for it, so that it needs no
 * CUDA toolkit to be built. */
#include <assay/assay.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;

static int (*cuInit)(unsigned);
static int (*cuDevicePrimaryCtxRetain)(void**, int);
static int (*cuCtxSetCurrent)(void*);
static int (*cuMemAlloc)(address*, size_t);
static int (*cuCtxSynchronize)(void);

static void fail(const char* what, assay_status status, const assay_error* error) {
  fprintf(stderr, "%s: %s: %s\n", what, assay_status_name(status), error->text);
  exit(1);
}

static void load_driver(void) {
  void* context = NULL;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) exit(77); /* no GPU here */
  *(void**)&cuInit = dlsym(driver, "cuInit");
  *(void**)&cuDevicePrimaryCtxRetain = dlsym(driver, "cuDevicePrimaryCtxRetain");
  *(void**)&cuCtxSetCurrent = dlsym(driver, "cuCtxSetCurrent");
  *(void**)&cuMemAlloc = dlsym(driver, "cuMemAlloc_v2");
  *(void**)&cuCtxSynchronize = dlsym(driver, "cuCtxSynchronize");
  if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 ||
      cuCtxSetCurrent(context) != 0) {
    exit(77);
  }
}

static void* allocate(size_t bytes) {
  address memory = 0;
  if (bytes > 0 && cuMemAlloc(&memory, bytes) != 0) exit(1);
  return (void*)(size_t)memory;
}

int main(int argc, char** argv) {
  assay_error error;
  assay_status status;
  assay_pack* pack = NULL;
  assay_plan* plan = NULL;
  assay_request request = {sizeof request, NULL, NULL, 0, -1, 0};
  assay_number numbers[16];
  assay_how how = {.struct_bytes = sizeof how};
  void* arguments[64];
  void *workspace, *prepared;
  size_t i;
  if (argc < 3 || argc > 18) {
    fprintf(stderr, "usage: launch_c PACK OP NAME=VALUE...\n");
    return 2;
  }
  load_driver();
  if ((status = assay_open(argv[1], &pack, &error)) != ASSAY_OK) fail("open", status, &error);

  for (i = 0; i + 3 < (size_t)argc; ++i) {
    char* equals = strchr(argv[i + 3], '=');
    if (equals == NULL) return 2;
    *equals = '\0';
    numbers[i].name = argv[i + 3];
    numbers[i].value = atof(equals + 1);
  }
  request.op = argv[2];
  request.numbers = numbers;
  request.num_numbers = i;
  if ((status = assay_plan_create(pack, &request, &plan, &error)) != ASSAY_OK) {
    fail("plan", status, &error);
  }
  assay_plan_how(plan, &how);
  printf("%s %s, tuned for %s on %s; factor %g. %s\n", how.kernel, how.configuration, how.problem,
         how.gpu, how.factor, how.why);

  for (i = 0; i < assay_num_arguments(plan); ++i) {
    assay_argument argument = {.struct_bytes = sizeof argument};
    assay_plan_argument(plan, i, &argument);
    printf("argument %s: %s, %zu bytes\n", argument.name, argument.dtype, argument.bytes);
    arguments[i] = allocate(argument.bytes);
  }
  workspace = allocate(assay_workspace_bytes(plan));
  prepared = allocate(assay_prepared_bytes(plan));

  status = assay_prepare(plan, NULL, arguments, i, prepared, &error);
  if (status != ASSAY_OK) fail("prepare", status, &error);
  status = assay_launch(plan, NULL, arguments, i, workspace, prepared, &error);
  if (status != ASSAY_OK) fail("launch", status, &error);
  if (cuCtxSynchronize() != 0) return 1;
  printf("launched\n");
  assay_plan_release(plan);
  assay_close(pack);
  return 0;
}
