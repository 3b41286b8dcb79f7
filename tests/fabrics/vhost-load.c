/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "vhost-load.h"

#include <endian.h>
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vhost-pattern.h"

enum { OPERATION_READ_16 = 0x88, OPERATION_WRITE_16 = 0x8a, CDB_BYTES = 16 };

static uint64_t region_units(const struct load_options *options)
{
	return options->region_blocks / options->transfer_blocks;
}

/* Which of all slots a slot is. When data is verified, unit i belongs to slot i modulo their
 * number. */
static uint64_t slot_number(const struct load_queue *queue, const struct load_slot *slot)
{
	return (uint64_t)queue->number * queue->options->depth + (uint64_t)(slot - queue->slots);
}

static uint64_t total_slots(const struct load_options *options)
{
	return (uint64_t)options->queues * options->depth;
}

static uint64_t units_of_slot(const struct load_queue *queue)
{
	return region_units(queue->options) / total_slots(queue->options);
}

static uint64_t random_steps_of_slot(const struct load_queue *queue)
{
	return queue->options->requests / queue->options->depth;
}

static bool choose_read(struct load_queue *queue)
{
	return next_random(&queue->random) >> 32 <
	       ((uint64_t)queue->options->read_percent << 32) / 100;
}

/* Each slot writes its own units once, then reads and writes among them, then reads them once. */
static void choose_verified(struct load_queue *queue, struct load_slot *slot)
{
	uint64_t units = units_of_slot(queue), random_steps = random_steps_of_slot(queue), unit;

	if (slot->step < units) {
		unit = slot->step;
		slot->writing = true;
	} else if (slot->step < units + random_steps) {
		unit = next_random(&queue->random) % units;
		slot->writing = !choose_read(queue);
	} else {
		unit = slot->step - units - random_steps;
		slot->writing = false;
	}
	slot->unit = unit * total_slots(queue->options) + slot_number(queue, slot);
}

static void choose_unverified(struct load_queue *queue, struct load_slot *slot)
{
	slot->unit = next_random(&queue->random) % region_units(queue->options);
	slot->writing = !choose_read(queue);
}

static bool slot_has_work(const struct load_queue *queue, const struct load_slot *slot)
{
	const struct load_options *options = queue->options;

	if (__atomic_load_n(&queue->load->stop, __ATOMIC_RELAXED))
		return false;
	if (options->verify)
		return slot->step < 2 * units_of_slot(queue) + random_steps_of_slot(queue);
	if (options->requests && slot->step >= random_steps_of_slot(queue))
		return false;
	return !options->duration_ns ||
	       queue->ended_ns - queue->started_ns < options->ramp_ns + options->duration_ns;
}

static uint32_t *generation_of(const struct load_queue *queue, const struct load_slot *slot)
{
	return &queue->load->generations[slot->unit];
}

static void fill(const struct load_queue *queue, const struct load_slot *slot)
{
	const struct load_options *options = queue->options;

	if (options->verify)
		pattern_fill(slot->command.data, slot->unit * options->transfer_blocks,
			     options->transfer_blocks, options->block_bytes,
			     ++*generation_of(queue, slot));
}

static bool data_is_right(const struct load_queue *queue, const struct load_slot *slot)
{
	const struct load_options *options = queue->options;

	return slot->writing || !options->verify ||
	       pattern_matches(slot->command.data, slot->unit * options->transfer_blocks,
			       options->transfer_blocks, options->block_bytes,
			       *generation_of(queue, slot));
}

static void offer(struct load_queue *queue, struct load_slot *slot)
{
	const struct load_options *options = queue->options;
	size_t bytes = (size_t)options->transfer_blocks * options->block_bytes;
	uint64_t block = htobe64(slot->unit * options->transfer_blocks);
	uint32_t blocks = htobe32(options->transfer_blocks);
	uint8_t cdb[CDB_BYTES] = { slot->writing ? OPERATION_WRITE_16 : OPERATION_READ_16 };

	memcpy(&cdb[2], &block, sizeof(block));
	memcpy(&cdb[10], &blocks, sizeof(blocks));
	/* What is read must come from the device, not be left over from what was written. */
	if (options->verify && !slot->writing)
		memset(slot->command.data, 0, bytes);
	command_offer(&slot->command, &queue->queue, cdb, sizeof(cdb),
		      slot->writing ? DATA_OUT : DATA_IN, bytes);
	queue->in_flight++;
}

static void start_next(struct load_queue *queue, struct load_slot *slot)
{
	if (!slot_has_work(queue, slot))
		return;
	if (queue->options->verify)
		choose_verified(queue, slot);
	else
		choose_unverified(queue, slot);
	if (slot->writing)
		fill(queue, slot);
	slot->started_ns = clock_ns();
	offer(queue, slot);
}

static void note_failure(struct load_queue *queue, const struct load_slot *slot, const char *what)
{
	struct load *load = queue->load;
	bool first = !__atomic_exchange_n(&load->stop, true, __ATOMIC_RELAXED);
	unsigned long long block = slot->unit * queue->options->transfer_blocks;

	if (first)
		snprintf(load->failure, sizeof(load->failure), "%s of block %llu: %s",
			 slot->writing ? "WRITE" : "READ", block, what);
}

static void count_finished(struct load_queue *queue, struct load_slot *slot)
{
	uint64_t now = clock_ns();

	slot->step++;
	__atomic_fetch_add(&queue->load->finished, 1, __ATOMIC_RELAXED);
	queue->ended_ns = now;
	if (slot->started_ns < queue->counting_from_ns)
		return;
	queue->counts.requests++;
	latency_add(&queue->latency, now - slot->started_ns);
}

static void finish(struct load_queue *queue, struct load_slot *slot)
{
	if (command_residual(&slot->command)) {
		queue->counts.failed++;
		note_failure(queue, slot, "data is missing");
	} else if (!data_is_right(queue, slot)) {
		queue->counts.wrong_data++;
		note_failure(queue, slot, "wrong data");
	}
	count_finished(queue, slot);
	start_next(queue, slot);
}

static void fail(struct load_queue *queue, struct load_slot *slot)
{
	char text[64];

	queue->counts.failed++;
	command_describe(&slot->command, text, sizeof(text));
	note_failure(queue, slot, text);
}

static void retry_later(struct load_queue *queue, struct load_slot *slot)
{
	queue->counts.busy++;
	slot->retrying = true;
}

static void handle_used(struct load_queue *queue, uint16_t head)
{
	struct load_slot *slot = &queue->slots[head / DESCRIPTORS_PER_COMMAND];

	queue->in_flight--;
	switch (command_result(&slot->command)) {
	case COMMAND_GOOD:
		finish(queue, slot);
		break;
	case COMMAND_RETRY_ATTENTION:
		queue->counts.attentions++;
		offer(queue, slot);
		break;
	case COMMAND_RETRY_BUSY:
		retry_later(queue, slot);
		break;
	case COMMAND_NO_TARGET:
		if (queue->options->target_may_be_away)
			retry_later(queue, slot);
		else
			fail(queue, slot);
		break;
	case COMMAND_FAILED:
		fail(queue, slot);
		break;
	}
}

/* A busy device gets a moment before it is asked again. */
static void retry_busy(struct load_queue *queue)
{
	bool waited = false;

	for (unsigned i = 0; i < queue->options->depth; i++) {
		struct load_slot *slot = &queue->slots[i];

		if (!slot->retrying)
			continue;
		if (!waited)
			usleep(1000);
		waited = true;
		slot->retrying = false;
		offer(queue, slot);
	}
}

static void take_all_used(struct load_queue *queue)
{
	uint64_t busy = queue->counts.busy;
	uint16_t head;

	while (queue_take(&queue->queue, &head))
		handle_used(queue, head);
	if (queue->counts.busy != busy)
		retry_busy(queue);
}

static void *run_queue(void *argument)
{
	struct load_queue *queue = argument;

	queue->started_ns = queue->ended_ns = clock_ns();
	queue->counting_from_ns = queue->started_ns + queue->options->ramp_ns;
	for (unsigned i = 0; i < queue->options->depth; i++)
		start_next(queue, &queue->slots[i]);
	for (;;) {
		queue_publish(&queue->queue);
		if (!queue->in_flight)
			break;
		queue_wait(&queue->queue);
		take_all_used(queue);
	}
	__atomic_fetch_sub(&queue->load->running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void check(const struct load_options *options)
{
	if (options->verify && region_units(options) < total_slots(options))
		errx(2, "the region is too small for so many commands");
	if (!region_units(options))
		errx(2, "the region is smaller than one command");
}

void load_start(struct load *load)
{
	check(&load->options);
	load->running = load->options.queues;
	for (unsigned i = 0; i < load->options.queues; i++) {
		struct load_queue *queue = &load->queues[i];
		int error;

		queue->number = i;
		queue->load = load;
		queue->options = &load->options;
		queue->random = 0x9e3779b97f4a7c15 * (i + 1);
		error = pthread_create(&queue->thread, NULL, run_queue, queue);
		if (error)
			errx(1, "cannot start a thread: %s", strerror(error));
	}
}

void load_join(struct load *load)
{
	for (unsigned i = 0; i < load->options.queues; i++)
		pthread_join(load->queues[i].thread, NULL);
}
