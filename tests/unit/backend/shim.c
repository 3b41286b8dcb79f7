/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../cmocka_test.h"
#include "shim_calls.h"

enum {
	SCRIPT_MAXIMUM = 64,
	RECORDS_MAXIMUM = 256,
};

struct script {
	long actions[SCRIPT_MAXIMUM];
	size_t count;
	size_t next;
	long afterwards;
	void (*hook)(void *context);
	void *context;
};

static struct script scripts[SHIM_CALLS];
static struct shim_record records[SHIM_CALLS][RECORDS_MAXIMUM];
static size_t record_counts[SHIM_CALLS];
struct shim_direct shim_direct;
struct shim_device shim_device;
blksize_t shim_file_block_bytes;

void shim_reset(void)
{
	memset(scripts, 0, sizeof(scripts));
	for (size_t i = 0; i < SHIM_CALLS; i++)
		scripts[i].afterwards = SHIM_PASS;
	shim_forget_records();
	shim_direct = (struct shim_direct){ 0 };
	shim_device = (struct shim_device){ 0 };
	shim_file_block_bytes = 0;
}

void shim_forget_records(void)
{
	memset(record_counts, 0, sizeof(record_counts));
}

void shim_set_script(enum shim_call call, const long *actions, size_t count)
{
	assert_true(count <= SCRIPT_MAXIMUM);
	memcpy(scripts[call].actions, actions, count * sizeof(*actions));
	scripts[call].count = count;
	scripts[call].next = 0;
	scripts[call].afterwards = SHIM_PASS;
}

void shim_always(enum shim_call call, long action)
{
	scripts[call].count = 0;
	scripts[call].next = 0;
	scripts[call].afterwards = action;
}

void shim_before(enum shim_call call, void (*hook)(void *context), void *context)
{
	scripts[call].hook = hook;
	scripts[call].context = context;
}

size_t shim_count(enum shim_call call)
{
	return record_counts[call];
}

size_t shim_count_all(void)
{
	size_t total = 0;

	for (size_t i = 0; i < SHIM_CALLS; i++)
		total += record_counts[i];
	return total;
}

const struct shim_record *shim_record(enum shim_call call, size_t number)
{
	assert_true(number < record_counts[call] && number < RECORDS_MAXIMUM);
	return &records[call][number];
}

long shim_enter(enum shim_call call, struct shim_record record)
{
	struct script *script = &scripts[call];

	if (record_counts[call] < RECORDS_MAXIMUM)
		records[call][record_counts[call]] = record;
	record_counts[call]++;
	if (script->hook)
		script->hook(script->context);
	return script->next < script->count ? script->actions[script->next++] : script->afterwards;
}

bool shim_is_settled(long action, int *result)
{
	if (action == SHIM_PASS)
		return false;
	*result = action < 0 ? -1 : 0;
	if (action < 0)
		errno = (int)-action;
	return true;
}

/* -- memory ------------------------------------------------------------------------------------ */

static bool memory_runs_out(size_t bytes)
{
	int result;

	return shim_is_settled(
		shim_enter(SHIM_ALLOCATE_MEMORY, (struct shim_record){ .bytes = bytes }), &result);
}

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	return memory_runs_out(bytes) ? NULL : __real_aligned_alloc(alignment, bytes);
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	return memory_runs_out(bytes) ? NULL : __real_malloc(bytes);
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
	return memory_runs_out(count * bytes) ? NULL : __real_calloc(count, bytes);
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	return memory_runs_out(strlen(text) + 1) ? NULL : __real_strdup(text);
}

char *__real_strndup(const char *text, size_t bytes);
char *__wrap_strndup(const char *text, size_t bytes);
char *__wrap_strndup(const char *text, size_t bytes)
{
	return memory_runs_out(bytes + 1) ? NULL : __real_strndup(text, bytes);
}
