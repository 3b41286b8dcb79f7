/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "vhost-options.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
	"usage: vhost-scsi-initiator [OPTION…] PORT-NAME\n"
	"  --target N, --lun N      portal group and LUN (default 1 and 0)\n"
	"  --queues N, --depth N    request queues, and commands in flight in each (1 and 32)\n"
	"  --workers                a kernel thread for each request queue (Linux 6.5)\n"
	"  --transfer BYTES         of each command (4096)\n"
	"  --region BYTES           use the first part of the LUN only\n"
	"  --read-percent N         share of reads (100)\n"
	"  --requests N             in all; or\n"
	"  --milliseconds N         how long, after --ramp N of them that are not counted\n"
	"  --verify                 write all, read and write at random, read all, and compare\n"
	"  --endpoint-cycles N      take the endpoint away so often under load\n"
	"  --command HEX            send one command instead, with\n"
	"  --data-in BYTES          to standard output, or\n"
	"  --data-out FILE\n"
	"exit status: 3 a command failed; 4 wrong data; 1 the interface failed; 2 usage\n";

static uint64_t number(const char *option, const char *text, uint64_t maximum)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value > maximum)
		errx(2, "--%s: %s is not a number up to %llu", option, text,
		     (unsigned long long)maximum);
	return value;
}

static const struct option long_options[] = {
	{ "target", required_argument, NULL, 't' },
	{ "lun", required_argument, NULL, 'l' },
	{ "queues", required_argument, NULL, 'q' },
	{ "depth", required_argument, NULL, 'd' },
	{ "workers", no_argument, NULL, 'w' },
	{ "transfer", required_argument, NULL, 'b' },
	{ "region", required_argument, NULL, 'r' },
	{ "read-percent", required_argument, NULL, 'p' },
	{ "requests", required_argument, NULL, 'n' },
	{ "milliseconds", required_argument, NULL, 'm' },
	{ "ramp", required_argument, NULL, 'R' },
	{ "verify", no_argument, NULL, 'v' },
	{ "endpoint-cycles", required_argument, NULL, 'e' },
	{ "command", required_argument, NULL, 'c' },
	{ "data-in", required_argument, NULL, 'i' },
	{ "data-out", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const struct options defaults = {
	.session = { .target = 1, .queues = 1, .depth = 32, .data_bytes = 4096 },
	.load.read_percent = 100,
};

static void session_option(struct session_options *session, int option, const char *name)
{
	switch (option) {
	case 't':
		session->target = (uint8_t)number(name, optarg, 255);
		break;
	case 'l':
		session->lun = (uint16_t)number(name, optarg, 0x3fff);
		break;
	case 'q':
		session->queues = (unsigned)number(name, optarg, 1024);
		break;
	case 'd':
		session->depth = (unsigned)number(name, optarg, 1024);
		break;
	case 'w':
		session->workers = true;
		break;
	case 'b':
		session->data_bytes = number(name, optarg, 4 << 20);
		break;
	}
}

static void load_option(struct options *options, int option, const char *name)
{
	struct load_options *load = &options->load;

	switch (option) {
	case 'r':
		load->region_blocks = number(name, optarg, UINT64_MAX); /* bytes, for now */
		break;
	case 'p':
		load->read_percent = (unsigned)number(name, optarg, 100);
		break;
	case 'n':
		load->requests = number(name, optarg, UINT64_MAX);
		break;
	case 'm':
		load->duration_ns = number(name, optarg, 86400000) * 1000000;
		break;
	case 'R':
		load->ramp_ns = number(name, optarg, 86400000) * 1000000;
		break;
	case 'v':
		load->verify = true;
		break;
	case 'e':
		options->endpoint_cycles = (unsigned)number(name, optarg, 1000000);
		break;
	}
}

void options_parse(struct options *options, int count, char **words)
{
	int option, index = 0;

	*options = defaults;
	while ((option = getopt_long(count, words, "", long_options, &index)) != -1) {
		const char *name = long_options[index].name;

		switch (option) {
		case 'c':
			options->command = optarg;
			break;
		case 'i':
			options->data_in_bytes = number(name, optarg, 1 << 20);
			break;
		case 'o':
			options->data_out_file = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		case '?':
			fputs(usage, stderr);
			exit(2);
		default:
			session_option(&options->session, option, name);
			load_option(options, option, name);
		}
	}
	if (optind != count - 1 || !options->session.queues || !options->session.depth ||
	    !options->session.data_bytes) {
		fputs(usage, stderr);
		exit(2);
	}
	options->session.port_name = words[optind];
}

/* A queue's share of a number given for all of them, which every command can have a part of. */
static uint64_t share_of_queue(const struct load_options *load)
{
	uint64_t slots = (uint64_t)load->queues * load->depth;

	return (load->requests + slots - 1) / slots * load->depth;
}

void options_complete(struct options *options, const struct session *session)
{
	struct load_options *load = &options->load;
	uint64_t wanted = load->region_blocks / session->block_bytes;

	load->block_bytes = session->block_bytes;
	load->region_blocks = wanted && wanted < session->blocks ? wanted : session->blocks;
	load->transfer_blocks = (uint32_t)(options->session.data_bytes / load->block_bytes);
	load->queues = options->session.queues;
	load->depth = options->session.depth;
	load->requests = share_of_queue(load);
	load->target_may_be_away = options->endpoint_cycles > 0;
	if (!load->transfer_blocks || options->session.data_bytes % load->block_bytes)
		errx(2, "a transfer must be whole blocks of %u bytes", load->block_bytes);
	if (!load->verify && !load->requests && !load->duration_ns)
		errx(2, "--requests or --milliseconds is missing");
	if (options->endpoint_cycles && !load->requests && !load->verify)
		errx(2, "--endpoint-cycles needs --requests or --verify");
}
