/*
 * HTTP/1.1 POST load generator: one thread, epoll, keep-alive, about 10 us of CPU a request.
 *
 * Written in C because a Node client uses more CPU than the servers measured here, and client, service and database share
 * one machine: an expensive client would limit the rates it measures.
 *
 * Closed loop (default): every connection sends its next request when the last one was answered.
 * Open loop (--rate): requests are sent on a schedule, and latency counts from the scheduled time, so that a stall of the
 * server counts for every request that waits meanwhile (no coordinated omission).
 *
 * Prints "measuring" on stderr after the warm-up (the harness then reads CPU counters) and one JSON line on stdout at the end.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 4096
#define REQUEST_MAX 4096
#define REPLY_MAX 16384
#define ARRIVALS_MAX (1 << 22) /* open loop: how many may wait for an idle connection */
#define FAILURES_MAX 1000      /* beyond this the server is considered dead */

struct options {
  int port, connections;
  double warm, seconds, rate;
  long requests; /* stop after this many; 0: run for --seconds */
  long users;
  const char *path, *host, *key, *headers, *body, *expect;
};

struct connection {
  int fd, received, busy;
  double start;
  char reply[REPLY_MAX];
};

static struct options opt = {
    .connections = 64, .warm = 1, .seconds = 5, .path = "/", .host = "localhost", .key = "", .headers = "", .body = "{}",
    .expect = "", .users = 1000000};
static struct connection connections[CONNECTIONS_MAX];
static int epoll;

/* Results. failures: broken connections; wrong: 200 answers without the --expect text. */
static double *latencies;
static long recorded, latencies_size, sent, answered, failures, non_200, wrong;
static double record_from, cpu_before;

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static double cpu_seconds(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/*
 * ---- requests: the body template with $order (unique), $user (one of --users) and $clock (the send time in milliseconds of
 * the monotonic clock, which all processes of a machine share) filled in ----
 */

static unsigned long long random_state;

static unsigned long long random_next(void) { /* xorshift64 */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

/* Different in every run, so that two runs against one log never send the same order. */
static unsigned run_id;

static void seed(void) {
  random_state = ((unsigned long long)getpid() << 32) ^ (unsigned long long)(now() * 1e9) ^ (unsigned long long)time(0);
  for (int i = 0; i < 16; i++) random_next();
  run_id = (unsigned)random_next();
}

static int fill_body(char *out) {
  char *to = out;
  for (const char *from = opt.body; *from;) {
    if (to - out > REQUEST_MAX / 2) die("the body is larger than %d bytes", REQUEST_MAX / 2);
    if (!strncmp(from, "$order", 6)) {
      /* The leading random part spreads the orders over an index, as orders of many shops would be. */
      to += sprintf(to, "ORD-%08x%08x%08ld", (unsigned)random_next(), run_id, sent);
      from += 6;
    } else if (!strncmp(from, "$user", 5)) {
      to += sprintf(to, "%u", (unsigned)(random_next() % opt.users) + 1);
      from += 5;
    } else if (!strncmp(from, "$clock", 6)) {
      to += sprintf(to, "%.3f", now() * 1e3);
      from += 6;
    } else {
      *to++ = *from++;
    }
  }
  *to = 0;
  return (int)(to - out);
}

static void send_request(struct connection *c, double start) {
  char body[REQUEST_MAX], request[REQUEST_MAX];
  int body_length = fill_body(body);
  int length = snprintf(request, sizeof request,
                        "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nX-CC-Api-Key: %s\r\n"
                        "%sContent-Length: %d\r\n\r\n%s",
                        opt.path, opt.host, opt.key, opt.headers, body_length, body);
  c->start = start;
  c->received = 0;
  c->busy = 1;
  sent++;
  /* A request is much smaller than the socket buffer: a short write means a broken connection. */
  if (write(c->fd, request, length) != length) shutdown(c->fd, SHUT_RDWR);
}

/* ---- connections ---- */

static void open_connection(struct connection *c) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(opt.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int on = 1;
  c->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (c->fd < 0 || connect(c->fd, (void *)&address, sizeof address)) die("cannot connect to port %d", opt.port);
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = (unsigned)(c - connections)};
  epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
}

/* Reconnects after the server closed the connection. A request that was in flight counts as failed. */
static void replace_connection(struct connection *c) {
  if (c->busy && ++failures > FAILURES_MAX) die("%d connections were closed before an answer", FAILURES_MAX);
  close(c->fd);
  open_connection(c);
}

/* ---- replies ---- */

/* Length of a complete reply, 0 while it is incomplete. Every measured server sends Content-Length with a body. */
static int reply_length(struct connection *c) {
  char *head_end = strstr(c->reply, "\r\n\r\n");
  if (!head_end) return 0;
  if (!strncmp(c->reply, "HTTP/1.1 204", 12)) return (int)(head_end - c->reply) + 4;
  char *length = strcasestr(c->reply, "content-length:");
  if (!length || length > head_end) die("reply without Content-Length: %.80s", c->reply);
  int total = (int)(head_end - c->reply) + 4 + atoi(length + strlen("content-length:"));
  if (total >= REPLY_MAX) die("reply of %d bytes", total);
  return c->received >= total ? total : 0;
}

static void record(struct connection *c, double end) {
  if (recorded == latencies_size) {
    latencies_size = latencies_size ? latencies_size * 2 : 1 << 16;
    latencies = realloc(latencies, sizeof *latencies * latencies_size);
    if (!latencies) die("out of memory");
  }
  latencies[recorded++] = (end - c->start) * 1e3;
}

/* Counts errors during the warm-up as well and prints the first. */
static void check_reply(struct connection *c) {
  answered++;
  int is_200 = !strncmp(c->reply + strlen("HTTP/1.1 "), "20", 2);
  if (is_200 && strstr(c->reply, opt.expect)) return;
  if (!non_200 && !wrong) fprintf(stderr, "unexpected reply: %.400s\n", c->reply);
  if (is_200) wrong++;
  else non_200++;
}

/* Returns 1 when the connection has become idle. One that was idle is already in the list of idle connections. */
static int on_readable(struct connection *c) {
  int was_busy = c->busy;
  int n = (int)read(c->fd, c->reply + c->received, REPLY_MAX - 1 - c->received);
  /* The only event on an idle connection is that the server closes it after its keep-alive timeout. */
  if (n <= 0 || !was_busy) {
    replace_connection(c);
    c->busy = 0;
    return was_busy;
  }
  c->received += n;
  c->reply[c->received] = 0;
  if (!reply_length(c)) return 0;
  double end = now();
  check_reply(c);
  if (end >= record_from) record(c, end);
  c->busy = 0;
  return 1;
}

/* ---- main loop ---- */

/* Open loop: due times of requests that wait for an idle connection. */
static double *arrivals, next_arrival;
static long arrivals_in, arrivals_out;
static int free_connections[CONNECTIONS_MAX], free_count;

static int all_sent(void) { return opt.requests && sent >= opt.requests; }

static void send_due_arrivals(double t) {
  for (; next_arrival <= t; next_arrival += 1 / opt.rate) {
    if (arrivals_in - arrivals_out == ARRIVALS_MAX) die("the server is %d requests behind the schedule", ARRIVALS_MAX);
    arrivals[arrivals_in++ % ARRIVALS_MAX] = next_arrival;
  }
  while (arrivals_out < arrivals_in && free_count && !all_sent())
    send_request(&connections[free_connections[--free_count]], arrivals[arrivals_out++ % ARRIVALS_MAX]);
}

static void run(double end) {
  struct epoll_event events[512];
  int measuring = 0, unanswered = opt.rate ? 0 : opt.connections;
  if (!opt.rate)
    for (int i = 0; i < opt.connections; i++) send_request(&connections[i], now());
  for (double t = now(); t < end; t = now()) {
    if (!measuring && t >= record_from) {
      measuring = 1;
      cpu_before = cpu_seconds();
      fputs("measuring\n", stderr);
    }
    if (opt.rate) send_due_arrivals(t);
    if (opt.rate && all_sent() && free_count == opt.connections) return;
    int n = epoll_wait(epoll, events, 512, opt.rate ? 1 : 100);
    for (int i = 0; i < n; i++) {
      struct connection *c = &connections[events[i].data.u32];
      if (!on_readable(c)) continue;
      if (opt.rate) free_connections[free_count++] = (int)(c - connections);
      else if (!all_sent()) send_request(c, now());
      else if (--unanswered == 0) return;
    }
  }
}

/* ---- report ---- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double percentile(double p) {
  if (!recorded) return 0;
  long i = (long)(recorded * p);
  return latencies[i < recorded ? i : recorded - 1];
}

static void report(double elapsed, double cpu) {
  qsort(latencies, recorded, sizeof *latencies, ascending);
  printf("{\"rate\":%.1f,\"requests\":%ld,\"seconds\":%.3f,\"sent\":%ld,\"answered\":%ld,"
         "\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"p999\":%.3f,\"max\":%.3f,"
         "\"failures\":%ld,\"non200\":%ld,\"wrong\":%ld,\"backlog\":%ld,\"clientCpuSeconds\":%.3f}\n",
         recorded / elapsed, recorded, elapsed, sent, answered, percentile(.5), percentile(.9), percentile(.99), percentile(.999),
         percentile(1), failures, non_200, wrong, arrivals_in - arrivals_out, cpu);
}

static void parse_options(int count, char **values) {
  static const struct option known[] = {
      {"port", 1, 0, 'p'},  {"connections", 1, 0, 'c'}, {"warm", 1, 0, 'w'}, {"seconds", 1, 0, 's'},
      {"rate", 1, 0, 'r'},  {"requests", 1, 0, 'n'},    {"path", 1, 0, 'P'}, {"host", 1, 0, 'H'},
      {"key", 1, 0, 'k'},   {"body", 1, 0, 'b'},        {"expect", 1, 0, 'e'},
      {"headers", 1, 0, 'h'}, {"users", 1, 0, 'u'}, {0, 0, 0, 0}};
  for (int o; (o = getopt_long(count, values, "", known, 0)) != -1;) switch (o) {
      case 'p': opt.port = atoi(optarg); break;
      case 'c': opt.connections = atoi(optarg); break;
      case 'w': opt.warm = atof(optarg); break;
      case 's': opt.seconds = atof(optarg); break;
      case 'r': opt.rate = atof(optarg); break;
      case 'n': opt.requests = atol(optarg); break;
      case 'P': opt.path = optarg; break;
      case 'H': opt.host = optarg; break;
      case 'k': opt.key = optarg; break;
      case 'b': opt.body = optarg; break;
      case 'e': opt.expect = optarg; break;
      case 'h': opt.headers = optarg; break;
      case 'u': opt.users = atol(optarg); break;
      default: exit(2);
    }
  if (!opt.port || opt.connections < 1 || opt.connections > CONNECTIONS_MAX)
    die("usage: load --port N [--connections 1-%d] [--warm S] [--seconds S] [--requests N] [--rate N]\n"
        "            [--path P] [--host H] [--key K] [--body TEMPLATE with $order, $user, $clock] [--expect TEXT]\n"
        "            [--headers LINES, each ending in CRLF] [--users N]",
        CONNECTIONS_MAX);
}

int main(int count, char **values) {
  parse_options(count, values);
  signal(SIGPIPE, SIG_IGN);
  seed();
  epoll = epoll_create1(0);
  arrivals = opt.rate ? malloc(sizeof *arrivals * ARRIVALS_MAX) : 0;
  for (int i = 0; i < opt.connections; i++) {
    open_connection(&connections[i]);
    free_connections[free_count++] = i;
  }
  next_arrival = now();
  record_from = next_arrival + opt.warm;
  run(record_from + opt.seconds);
  report(now() - record_from, cpu_seconds() - cpu_before);
}
