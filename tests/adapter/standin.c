/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "standin.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tcmur_handler *registered;

/* -- what the daemon exports -- */

int tcmur_register_handler(struct tcmur_handler *handler)
{
	registered = handler;
	return 0;
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int count;
} completions = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

void tcmur_cmd_complete(struct tcmu_device *dev, void *cmd, int status)
{
	assert_non_null(dev->completed);
	dev->completed(dev, cmd, status);
	pthread_mutex_lock(&completions.lock);
	completions.count++;
	pthread_cond_broadcast(&completions.changed);
	pthread_mutex_unlock(&completions.lock);
}

unsigned int standin_completions(void)
{
	unsigned int count;

	pthread_mutex_lock(&completions.lock);
	count = completions.count;
	pthread_mutex_unlock(&completions.lock);
	return count;
}

void standin_wait(unsigned int count)
{
	pthread_mutex_lock(&completions.lock);
	while (completions.count < count)
		pthread_cond_wait(&completions.changed, &completions.lock);
	pthread_mutex_unlock(&completions.lock);
}

void tcmur_dev_set_private(struct tcmu_device *dev, void *data)
{
	dev->hm_private = data;
}

void *tcmur_dev_get_private(struct tcmu_device *dev)
{
	return dev->hm_private;
}

/* -- what libtcmu exports -- */

char *tcmu_dev_get_cfgstring(struct tcmu_device *dev)
{
	return dev->cfgstring;
}

char *tcmu_dev_get_memory_info(struct tcmu_device *dev, void **base, size_t *len, off_t *offset)
{
	assert_null(len);
	assert_null(offset);
	*base = dev->ring;
	return dev->ring ? strdup("/dev/uio0") : NULL;
}

uint64_t tcmu_dev_get_num_lbas(struct tcmu_device *dev)
{
	return dev->num_lbas;
}

uint32_t tcmu_dev_get_block_size(struct tcmu_device *dev)
{
	return dev->block_size;
}

uint32_t tcmu_dev_get_max_xfer_len(struct tcmu_device *dev)
{
	return dev->max_xfer_len;
}

void tcmu_dev_set_max_xfer_len(struct tcmu_device *dev, uint32_t len)
{
	dev->max_xfer_len = len;
}

void tcmu_dev_set_opt_xcopy_rw_len(struct tcmu_device *dev, uint32_t len)
{
	dev->opt_xcopy_rw_len = len;
}

void tcmu_dev_set_opt_unmap_gran(struct tcmu_device *dev, uint32_t len, bool split)
{
	(void)split;
	dev->opt_unmap_gran = len;
}

void tcmu_dev_set_unmap_gran_align(struct tcmu_device *dev, uint32_t len)
{
	dev->unmap_gran_align = len;
}

void tcmu_dev_set_write_cache_enabled(struct tcmu_device *dev, bool enabled)
{
	dev->write_cache_enabled = enabled;
}

void tcmu_dev_set_solid_state_media(struct tcmu_device *dev, bool solid_state)
{
	dev->solid_state_media = solid_state;
}

int tcmu_cfgfs_dev_get_attr_int(struct tcmu_device *dev, const char *name)
{
	if (!strcmp(name, "../enable"))
		return dev->enabled;
	if (!strcmp(name, "emulate_pr"))
		return dev->emulate_pr;
	assert_string_equal(name, "emulate_write_cache");
	return dev->emulate_write_cache;
}

int tcmu_cfgfs_dev_exec_action(struct tcmu_device *dev, const char *name, uint32_t value)
{
	assert_string_equal(name, "../attrib/emulate_write_cache");
	/* The kernel would send an event to the thread that is waiting here. */
	assert_false(dev->enabled);
	dev->emulate_write_cache = (int)value;
	return 0;
}

static struct {
	char *text;
	size_t bytes;
	size_t longest_line;
} log_book;

static bool is_loading; /* there is no LUN yet */

__attribute__((format(printf, 3, 0))) static void log_add(struct tcmu_device *dev,
							  const char *level, const char *format,
							  va_list arguments)
{
	char *line, *marked;
	int bytes = vasprintf(&line, format, arguments);
	int marked_bytes = asprintf(&marked, "[%s] %s", level, line);

	assert_true(dev || is_loading); /* the daemon names it in each line */
	assert_true(bytes > 0 && line[bytes - 1] == '\n');
	log_book.text = realloc(log_book.text, log_book.bytes + (size_t)marked_bytes + 1);
	assert_non_null(log_book.text);
	memcpy(log_book.text + log_book.bytes, marked, (size_t)marked_bytes + 1);
	log_book.bytes += (size_t)marked_bytes;
	free(marked);
	if ((size_t)bytes > log_book.longest_line)
		log_book.longest_line = (size_t)bytes;
	free(line);
}

#define MESSAGE_FUNCTION(name, level)                                                          \
	void name(struct tcmu_device *dev, const char *function, int line, const char *format, \
		  ...)                                                                         \
	{                                                                                      \
		va_list arguments;                                                             \
                                                                                               \
		(void)function, (void)line;                                                    \
		va_start(arguments, format);                                                   \
		log_add(dev, level, format, arguments);                                        \
		va_end(arguments);                                                             \
	}

MESSAGE_FUNCTION(tcmu_err_message, "ERROR")
MESSAGE_FUNCTION(tcmu_warn_message, "WARN")
MESSAGE_FUNCTION(tcmu_info_message, "INFO")
MESSAGE_FUNCTION(tcmu_dbg_message, "DEBUG")

const char *standin_log(void)
{
	return log_book.text ? log_book.text : "";
}

void standin_log_clear(void)
{
	free(log_book.text);
	memset(&log_book, 0, sizeof(log_book));
}

size_t standin_log_longest_line(void)
{
	return log_book.longest_line;
}

/* -- what the daemon does -- */

/* What was loaded before: the daemon loads a handler once. */
static const struct tcmur_handler *loaded[8];

static const struct tcmur_handler *find_loaded(const char *subtype)
{
	for (size_t i = 0; i < ARRAY_COUNT(loaded) && loaded[i]; i++)
		if (!strcmp(loaded[i]->subtype, subtype))
			return loaded[i];
	return NULL;
}

static void remember_loaded(const struct tcmur_handler *handler)
{
	size_t i = 0;

	while (loaded[i])
		i++;
	loaded[i] = handler;
}

const struct tcmur_handler *standin_load(const char *subtype)
{
	return standin_load_from(HANDLER_DIRECTORY, subtype);
}

/* What handler_init() of handler_`name`.so returns, and what it registers. */
static int initialize(const char *directory, const char *name, const struct tcmur_handler **handler)
{
	char path[4096];
	int (*handler_init)(void);
	void *plugin;
	int error;

	snprintf(path, sizeof(path), "%s/handler_%s.so", directory, name);
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin)
		fail_msg("%s", dlerror());
	*(void **)&handler_init = dlsym(plugin, "handler_init");
	assert_non_null(handler_init);
	registered = NULL;
	is_loading = true;
	error = handler_init();
	is_loading = false;
	*handler = registered;
	return error;
}

const struct tcmur_handler *standin_load_from(const char *directory, const char *subtype)
{
	const struct tcmur_handler *handler = find_loaded(subtype);

	if (handler)
		return handler;
	assert_int_equal(initialize(directory, subtype, &handler), 0);
	assert_non_null(handler);
	remember_loaded(handler);
	return handler;
}

int standin_load_refused(const char *directory, const char *name)
{
	const struct tcmur_handler *handler;
	int error = initialize(directory, name, &handler);

	assert_null(handler);
	return error;
}

struct tcmu_device standin_device(const char *cfgstring, uint64_t size_bytes)
{
	struct tcmu_device dev = {
		.num_lbas = size_bytes / 512,
		.block_size = 512,
		.max_xfer_len = 128,
		.emulate_pr = 1,
	};

	snprintf(dev.cfgstring, sizeof(dev.cfgstring), "%s", cfgstring);
	return dev;
}

static size_t cdb_bytes(uint8_t operation_code)
{
	static const uint8_t of_group[] = { 6, 10, 10, 0, 16, 12, 0, 0 };

	return of_group[operation_code >> 5];
}

/* The size of the daemon's struct tcmur_cmd, of which the handlers know the beginning. */
enum { RUNNER_COMMAND_BYTES = 96 };

struct tcmur_cmd *standin_command(const uint8_t *cdb, const struct iovec *iov, size_t iov_count)
{
	size_t bytes = cdb_bytes(cdb[0]);
	size_t total = sizeof(struct tcmulib_cmd) + iov_count * sizeof(*iov) + bytes +
		       RUNNER_COMMAND_BYTES;
	struct tcmulib_cmd *lib_cmd = malloc(total);
	struct tcmur_cmd *cmd;

	assert_non_null(lib_cmd);
	memset(lib_cmd, 0xa5, total);
	lib_cmd->cmd_id = 1;
	lib_cmd->iovec = (struct iovec *)(lib_cmd + 1);
	lib_cmd->iov_cnt = iov_count;
	if (iov_count)
		memcpy(lib_cmd->iovec, iov, iov_count * sizeof(*iov));
	lib_cmd->cdb = (uint8_t *)(lib_cmd->iovec + iov_count);
	memcpy(lib_cmd->cdb, cdb, bytes);
	lib_cmd->hm_private = lib_cmd->cdb + bytes;
	cmd = lib_cmd->hm_private;
	cmd->lib_cmd = lib_cmd;
	return cmd;
}

void standin_command_free(struct tcmur_cmd *cmd)
{
	free(cmd->lib_cmd);
}

static bool is_synchronize_cache(const uint8_t *cdb)
{
	return cdb[0] == 0x35 || cdb[0] == 0x91;
}

/* The status a command under way has ended with. One at a time. */
static int ended_with;

static void note_status(struct tcmu_device *dev, struct tcmur_cmd *cmd, int status)
{
	(void)dev, (void)cmd;
	ended_with = status;
}

/* What the daemon does with a SYNCHRONIZE CACHE that handle_cmd leaves to it. */
static int flush(const struct tcmur_handler *handler, struct tcmu_device *dev,
		 struct tcmur_cmd *cmd)
{
	unsigned int before = standin_completions();
	int status;

	dev->completed = note_status;
	status = handler->flush(dev, cmd);
	if (status != TCMU_STS_OK)
		return status;
	standin_wait(before + 1);
	return ended_with;
}

int standin_send(const struct tcmur_handler *handler, struct tcmu_device *dev, const uint8_t *cdb,
		 void *buffer, size_t bytes, uint8_t sense[TCMULIB_SENSE_BYTES])
{
	const struct iovec iov = { buffer, bytes };
	struct tcmur_cmd *cmd = standin_command(cdb, &iov, buffer ? 1 : 0);
	int status = handler->handle_cmd(dev, cmd);

	if (status == TCMU_STS_NOT_HANDLED && is_synchronize_cache(cmd->lib_cmd->cdb))
		status = flush(handler, dev, cmd);
	if (sense)
		memcpy(sense, cmd->lib_cmd->sense_buf, TCMULIB_SENSE_BYTES);
	standin_command_free(cmd);
	return status;
}

size_t standin_open_files(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* Short, to be reached by any user, and not in memory, where /tmp may be. */
static char directory_path[] = "/var/tmp/tcmu-ext-adapter-XXXXXX";
static bool directory_made;

const char *standin_directory(void)
{
	if (!directory_made) {
		assert_non_null(mkdtemp(directory_path));
		directory_made = true;
	}
	return directory_path;
}

/* It is one level deep. */
static void remove_directory(void)
{
	DIR *directory = opendir(directory_path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(directory), entry->d_name,
				 entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
	if (directory)
		closedir(directory);
	rmdir(directory_path);
}

int standin_end(int failures)
{
	if (directory_made)
		remove_directory();
	return end_unit_tests(failures);
}

char *standin_file(const char *name, uint64_t bytes)
{
	char *path;
	int fd;

	assert_true(asprintf(&path, "%s/%s", standin_directory(), name) > 0);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
	return path;
}
