/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A SCSI initiator on /dev/vhost-scsi without a virtual machine: a test, a load generator, and an
 * example of the interface. Read in this order:
 *
 *     vhost-queue     the ring of requests that driver and device share
 *     vhost-device    the ioctls that connect such rings with the kernel's target
 *     vhost-command   a SCSI command in a ring
 *     vhost-session   memory, queues and device put together
 *     vhost-load      many commands at a time
 *
 * The report goes to standard output as JSON, events of the device to standard error.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "vhost-options.h"
#include "vhost-report.h"
#include "vhost-session.h"

enum { EXIT_COMMAND_FAILED = 3, EXIT_WRONG_DATA = 4, MAXIMUM_CDB_BYTES = 32 };

static size_t parse_cdb(const char *text, uint8_t cdb[MAXIMUM_CDB_BYTES])
{
	size_t bytes = 0;
	unsigned byte;
	int length;

	while (sscanf(text, " %2x%n", &byte, &length) == 1) {
		if (bytes == MAXIMUM_CDB_BYTES)
			errx(2, "the command is longer than %d bytes", MAXIMUM_CDB_BYTES);
		cdb[bytes++] = (uint8_t)byte;
		text += length;
	}
	if (*text || !bytes)
		errx(2, "--command: not hexadecimal: %s", text);
	return bytes;
}

static size_t read_data_out(const char *path, void *data, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t bytes;

	if (!file)
		err(2, "%s", path);
	bytes = fread(data, 1, size, file);
	if (ferror(file) || !bytes || fgetc(file) != EOF)
		errx(2, "%s: cannot be read, or is empty or larger than %zu bytes", path, size);
	fclose(file);
	return bytes;
}

static void print_outcome(const struct command *command)
{
	char text[64];

	command_describe(command, text, sizeof(text));
	fprintf(stderr, "%s\n", text);
}

/* The LUN's capacity was read before, so that no unit attention is left for this command. */
static int run_command(struct session *session, const struct options *options)
{
	struct load_queue *queue = &session->queues[0];
	struct command *command = &queue->slots[0].command;
	uint8_t cdb[MAXIMUM_CDB_BYTES];
	size_t cdb_bytes = parse_cdb(options->command, cdb), bytes = options->data_in_bytes;
	enum data_direction direction = bytes ? DATA_IN : DATA_NONE;
	enum command_result result;

	if (options->data_out_file) {
		direction = DATA_OUT;
		bytes = read_data_out(options->data_out_file, command->data,
				      options->session.data_bytes);
	}
	result = command_run(command, &queue->queue, cdb, cdb_bytes, direction, bytes);
	print_outcome(command);
	if (result != COMMAND_GOOD)
		return EXIT_COMMAND_FAILED;
	if (direction == DATA_IN)
		fwrite(command->data, 1, bytes - command_residual(command), stdout);
	return 0;
}

/* Commands all queues have finished when the endpoint is to be taken away the next time. */
static uint64_t next_cycle(const struct load *load, unsigned done, unsigned cycles)
{
	uint64_t each_queue = load->options.requests;

	if (load->options.verify)
		each_queue += 2 * load->options.region_blocks / load->options.transfer_blocks /
			      load->options.queues;
	return each_queue * load->options.queues * (done + 1) / (cycles + 1);
}

static unsigned watch(struct session *session, struct load *load, unsigned cycles)
{
	unsigned done = 0;

	while (__atomic_load_n(&load->running, __ATOMIC_ACQUIRE)) {
		session_take_events(session, 5);
		if (done < cycles && __atomic_load_n(&load->finished, __ATOMIC_RELAXED) >=
					     next_cycle(load, done, cycles)) {
			session_cycle_endpoint(session);
			done++;
		}
	}
	return done;
}

static void make_generations(struct load *load)
{
	size_t units = load->options.region_blocks / load->options.transfer_blocks;

	load->generations = calloc(units + 1, sizeof(*load->generations));
	if (!load->generations)
		err(1, "no memory");
}

static int run_load(struct session *session, struct options *options)
{
	struct load load = { .queues = session->queues };
	struct totals totals = { 0 };
	unsigned cycles;

	options_complete(options, session);
	load.options = options->load;
	make_generations(&load);
	load_start(&load);
	cycles = watch(session, &load, options->endpoint_cycles);
	load_join(&load);
	session_take_events(session, 0);
	for (unsigned i = 0; i < load.options.queues; i++)
		report_add_queue(&totals, &session->queues[i]);
	report_print(session, &load, &totals, cycles);
	free(load.generations);
	if (totals.counts.wrong_data)
		return EXIT_WRONG_DATA;
	return totals.counts.failed ? EXIT_COMMAND_FAILED : 0;
}

int main(int count, char **words)
{
	struct options options;
	struct session session;
	int status;

	options_parse(&options, count, words);
	session_open(&session, &options.session);
	session_read_capacity(&session);
	status = options.command ? run_command(&session, &options) : run_load(&session, &options);
	session_close(&session);
	return status;
}
