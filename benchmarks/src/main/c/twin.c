/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map benchmarks in C with libbpf, on the maps that the Java benchmarks use.
 * twin lookup|update|dump MAP_ID REPEATS | twin ring MAP_ID PROGRAM_ID EVENTS REPEATS
 * Prints ns an operation (an entry, an event): the median of seven runs.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS 7
#define BATCH 4096

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(1);
}

static volatile long events_seen;

static int on_event(void *context, void *data, size_t size)
{
	(void)context;
	(void)size;
	events_seen += *(unsigned char *)data;
	return 0;
}

static double ring(int map, char **arguments)
{
	int program = bpf_prog_get_fd_by_id(atoi(arguments[0]));
	unsigned int request[2] = { atoi(arguments[1]), 0 };
	int repeats = atoi(arguments[2]);
	struct ring_buffer *reader = ring_buffer__new(map, on_event, NULL, NULL);
	double total = 0;

	if (program < 0 || !reader)
		fail("ring", errno);
	for (int i = 0; i < repeats; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = request, .ctx_size_in = sizeof(request));
		int error = bpf_prog_test_run_opts(program, &options);

		if (error)
			fail("fill the ring", error);
		double start = now_ns();
		int seen = ring_buffer__consume(reader);

		total += now_ns() - start;
		if (seen != (int)request[0])
			fail("consume", seen);
	}
	ring_buffer__free(reader);
	return total / repeats / request[0];
}

static double dump(int map, unsigned int key_size, unsigned int value_size)
{
	char *keys = malloc((size_t)BATCH * key_size), *values = malloc((size_t)BATCH * value_size);
	char cursor[64];
	void *in = NULL;
	long entries = 0;
	int error = 0;
	double start = now_ns();

	while (!error) {
		unsigned int count = BATCH;

		error = bpf_map_lookup_batch(map, in, cursor, keys, values, &count, NULL);
		entries += count;
		in = cursor;
	}
	if (error != -ENOENT)
		fail("dump", error);
	double elapsed = now_ns() - start;

	free(keys);
	free(values);
	return elapsed / entries;
}

static double calls(int map, int update, int repeats, unsigned int key_size, unsigned int value_size)
{
	char *key = calloc(1, key_size), *value = calloc(1, value_size);
	int error = bpf_map_get_next_key(map, NULL, key);
	double start = now_ns();

	for (int i = 0; i < repeats && !error; i++)
		error = update ? bpf_map_update_elem(map, key, value, BPF_ANY) : bpf_map_lookup_elem(map, key, value);
	if (error)
		fail("call", error);
	double elapsed = now_ns() - start;

	free(key);
	free(value);
	return elapsed / repeats;
}

int main(int count, char **arguments)
{
	struct bpf_map_info map_info = {};
	unsigned int length = sizeof(map_info);
	double figures[RUNS];

	if (count < 4)
		fail("usage", EINVAL);
	int map = bpf_map_get_fd_by_id(atoi(arguments[2]));

	if (map < 0 || bpf_obj_get_info_by_fd(map, &map_info, &length))
		fail("map", errno);
	for (int i = 0; i < RUNS; i++) {
		if (!strcmp(arguments[1], "ring"))
			figures[i] = ring(map, arguments + 3);
		else if (!strcmp(arguments[1], "dump"))
			figures[i] = dump(map, map_info.key_size, map_info.value_size);
		else
			figures[i] = calls(map, !strcmp(arguments[1], "update"), atoi(arguments[3]), map_info.key_size,
					   map_info.value_size);
	}
	qsort(figures, RUNS, sizeof(double), compare);
	printf("%.2f\n", figures[RUNS / 2]);
	return 0;
}
