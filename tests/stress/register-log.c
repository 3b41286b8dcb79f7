/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "register-log.h"

#include "disk.h"

void register_log_init(struct register_log *log, uint64_t lba)
{
	pthread_mutex_init(&log->lock, NULL);
	log->lba = lba;
	log->count = 1;
	log->writes[0] = (struct register_write){ 0 };
}

/* Whether another write came after this one and was over before `time`. */
static bool is_overwritten(const struct register_log *log, const struct register_write *write,
			   uint64_t time)
{
	for (size_t i = 0; i < log->count; i++)
		if (log->writes[i].began > write->ended && log->writes[i].ended < time)
			return true;
	return false;
}

/* Forgets what no command under way, nor a later one, can find. */
static void prune(struct register_log *log, uint64_t earliest_beginning)
{
	size_t kept = 0;

	for (size_t i = 0; i < log->count; i++) {
		if (is_overwritten(log, &log->writes[i], earliest_beginning)) {
			log->writes[i].began = 0; /* it overwrites nothing that is still there */
			log->writes[i].tag = UINT64_MAX;
		}
	}
	for (size_t i = 0; i < log->count; i++)
		if (log->writes[i].tag != UINT64_MAX)
			log->writes[kept++] = log->writes[i];
	log->count = kept;
}

void register_log_begin(struct register_log *log, uint64_t tag, uint64_t began,
			uint64_t earliest_beginning)
{
	pthread_mutex_lock(&log->lock);
	if (log->count == REGISTER_WRITES)
		prune(log, earliest_beginning);
	if (log->count == REGISTER_WRITES)
		violation("too many writes of block %llu are under way",
			  (unsigned long long)log->lba);
	log->writes[log->count++] = (struct register_write){ tag, began, UINT64_MAX };
	pthread_mutex_unlock(&log->lock);
}

/* The one with this tag that is under way. */
static size_t find_under_way(const struct register_log *log, uint64_t tag, uint64_t began)
{
	for (size_t i = 0; i < log->count; i++)
		if (log->writes[i].tag == tag && log->writes[i].ended == UINT64_MAX &&
		    log->writes[i].began == began)
			return i;
	violation("a write is missing from the log of block %llu", (unsigned long long)log->lba);
}

void register_log_end(struct register_log *log, uint64_t tag, uint64_t began, uint64_t ended)
{
	pthread_mutex_lock(&log->lock);
	log->writes[find_under_way(log, tag, began)].ended = ended;
	pthread_mutex_unlock(&log->lock);
}

void register_log_cancel(struct register_log *log, uint64_t tag, uint64_t began)
{
	size_t place;

	pthread_mutex_lock(&log->lock);
	place = find_under_way(log, tag, began);
	log->writes[place] = log->writes[--log->count];
	pthread_mutex_unlock(&log->lock);
}

void register_log_check(struct register_log *log, uint64_t tag, uint64_t began)
{
	bool found = false;

	pthread_mutex_lock(&log->lock);
	for (size_t i = 0; i < log->count && !found; i++)
		found = log->writes[i].tag == tag && !is_overwritten(log, &log->writes[i], began);
	pthread_mutex_unlock(&log->lock);
	if (!found)
		violation("block %llu holds %llx, which was overwritten before, or never written",
			  (unsigned long long)log->lba, (unsigned long long)tag);
}
