/* What jextract reads: the system's libbpf headers. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
