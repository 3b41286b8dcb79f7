/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * scsi-stress [--threads N] [--commands N] [--seed N] [--restarts] [--may-go] DISK
 *
 * Overwrites the beginning of the disk. Ends with 0 when all commands of all threads had effects
 * that fit together, with 1 and a message when they had not.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport.h"
#include "workloads.h"

static const struct workload *const workloads[] = {
	&workload_registers, &workload_counters, &workload_bits, &workload_cells, &workload_private,
};

enum {
	WORKLOADS = sizeof(workloads) / sizeof(workloads[0]),
	ALIGNMENT = 4096,
	BLOCK_MAXIMUM_BYTES = 4096
};

static struct {
	unsigned int threads;
	uint64_t commands;
	uint64_t seed;
	bool restarts; /* the target may: only what survives that commands take effect twice */
	bool may_go;   /* the disk may be taken away meanwhile */
} options = { .threads = 16, .commands = 20000, .seed = 1 };

static uint64_t places[WORKLOADS];

static bool is_used(const struct workload *workload)
{
	return !options.restarts || workload->survives_repetition;
}

static uint64_t place_of(unsigned int workload, unsigned int thread)
{
	if (!workloads[workload]->is_private)
		return places[workload];
	return places[workload] + (uint64_t)thread * workloads[workload]->blocks;
}

static void lay_out(const struct disk *disk)
{
	uint64_t next = 0;

	for (unsigned int i = 0; i < WORKLOADS; i++) {
		places[i] = next;
		next += (uint64_t)workloads[i]->blocks *
			(workloads[i]->is_private ? disk->threads : 1);
	}
	if (next > disk->capacity.blocks)
		errx(2, "%s has %" PRIu64 " blocks, of which %" PRIu64 " are needed", disk->path,
		     disk->capacity.blocks, next);
}

static void open_thread(struct thread *thread, struct disk *disk, unsigned int number)
{
	*thread = (struct thread){
		.disk = disk,
		.number = number,
		.handle = transport_open(disk->path),
		.random = (options.seed + number + 1) * UINT64_C(0x9e3779b97f4a7c15),
	};
	if (!disk->capacity.block_bytes)
		disk->capacity = scsi_read_capacity(thread->handle);
	thread->memory = aligned_alloc(ALIGNMENT, (size_t)2 * DATA_BLOCKS * BLOCK_MAXIMUM_BYTES);
	if (!thread->memory)
		err(2, "memory");
	atomic_store(&disk->began[number], UINT64_MAX);
}

static void close_thread(struct thread *thread)
{
	transport_close(thread->handle);
	free(thread->memory);
}

static void *run(void *argument)
{
	struct thread *thread = argument;
	struct disk *disk = thread->disk;

	while (!atomic_load(&disk->stop) && atomic_load(&disk->commands) < options.commands) {
		unsigned int i = chance(thread, WORKLOADS);

		if (is_used(workloads[i]))
			workloads[i]->step(thread, place_of(i, thread->number));
	}
	return NULL;
}

static void set_up(struct thread *threads, unsigned int count)
{
	for (unsigned int i = 0; i < WORKLOADS; i++)
		for (unsigned int t = 0; t < (workloads[i]->is_private ? count : 1); t++)
			if (is_used(workloads[i]))
				workloads[i]->set_up(&threads[t], place_of(i, t));
}

static void run_all(struct thread *threads, unsigned int count)
{
	pthread_t ids[THREADS_MAXIMUM];

	for (unsigned int i = 0; i < count; i++)
		if (pthread_create(&ids[i], NULL, run, &threads[i]))
			errx(2, "no thread can be made");
	for (unsigned int i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
}

static void check_all(struct thread *thread)
{
	for (unsigned int i = 0; i < WORKLOADS; i++)
		if (is_used(workloads[i]) && !atomic_load(&thread->disk->gone))
			workloads[i]->check(thread, places[i]);
}

static void parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "commands", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "restarts", no_argument, NULL, 'r' },
		{ "may-go", no_argument, NULL, 'g' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 't':
			options.threads = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'c':
			options.commands = strtoull(optarg, NULL, 10);
			break;
		case 's':
			options.seed = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			options.restarts = true;
			break;
		case 'g':
			options.may_go = true;
			break;
		default:
			exit(2);
		}
	}
	if (optind != argc - 1 || !options.threads || options.threads > THREADS_MAXIMUM)
		errx(2,
		     "usage: scsi-stress [--threads N] [--commands N] [--seed N] [--restarts] "
		     "[--may-go] %s",
		     transport_name_form);
}

int main(int argc, char **argv)
{
	static struct thread threads[THREADS_MAXIMUM];
	static struct disk disk;

	parse(argc, argv);
	disk.path = argv[optind];
	disk.threads = options.threads;
	for (unsigned int i = 0; i < options.threads; i++)
		open_thread(&threads[i], &disk, i);
	lay_out(&disk);
	set_up(threads, options.threads);
	run_all(threads, options.threads);
	check_all(&threads[0]);
	printf("%" PRIu64 " commands, %u at a time%s\n", atomic_load(&disk.commands),
	       options.threads, atomic_load(&disk.gone) ? ", until the disk was gone" : "");
	for (unsigned int i = 0; i < options.threads; i++)
		close_thread(&threads[i]);
	return atomic_load(&disk.gone) && !options.may_go;
}
