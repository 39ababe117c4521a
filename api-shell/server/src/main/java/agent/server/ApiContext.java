package agent.server;

import agent.server.monitor.AgentEvents;
import agent.types.NumberOption;
import java.nio.file.Path;

/** Configuration of the API server; immutable after {@link #conclude()}. */
public final class ApiContext {
  /** Bytes of the largest request body. */
  public static final NumberOption MAX_BODY = new NumberOption("api-max-body", 16 << 20, 1024);

  private static final int DEFAULT_IO_THREADS = 2;
  private static final long DEFAULT_STALL_LIMIT_MS = 60_000;
  private static final int DEFAULT_MAX_CONNECTIONS = 16_384;
  private static final int LONGEST_PATH_BYTES = 90;

  private Path socketPath;
  private String socketGroup;
  private long maxBodyBytes = MAX_BODY.standard();
  private int ioThreads = DEFAULT_IO_THREADS;
  private long stallLimitMs = DEFAULT_STALL_LIMIT_MS;
  private int maxConnections = DEFAULT_MAX_CONNECTIONS;
  private int peerRequests;
  private BodyLimits bodyLimits = BodyLimits.DEFAULT;
  private RateLimits rateLimits = RateLimits.NONE;
  private boolean profiling;
  private AgentEvents events = new AgentEvents();
  private boolean isConcluded;

  /** Sets the path of the socket ({@code --socket-path}). */
  public ApiContext socketPath(Path path) {
    socketPath = changing(path);
    return this;
  }

  /** Sets the group that may connect; null: the group of the process ({@code --socket-group}). */
  public ApiContext socketGroup(String group) {
    socketGroup = changing(group);
    return this;
  }

  /** Sets the largest request body, in bytes ({@code --api-max-body}). */
  public ApiContext maxBodyBytes(long bytes) {
    maxBodyBytes = changing(bytes);
    return this;
  }

  /** Sets how much one request body may hold. */
  public ApiContext bodyLimits(BodyLimits limits) {
    bodyLimits = changing(limits);
    return this;
  }

  /** Sets how many threads read and write sockets. */
  public ApiContext ioThreads(int count) {
    ioThreads = changing(count);
    return this;
  }

  /** Sets how long a worker waits for a client that neither sends nor reads, in milliseconds. */
  public ApiContext stallLimitMs(long limitMs) {
    stallLimitMs = changing(limitMs);
    return this;
  }

  /**
   * Sets how many clients may be connected at one time. Above it a new client replaces the one that
   * has been idle for the longest time, or waits where none is idle.
   */
  public ApiContext maxConnections(int count) {
    maxConnections = changing(count);
    return this;
  }

  /**
   * Sets how many requests of one peer process may be at work at one time; the default is half of
   * the connections.
   */
  public ApiContext peerRequests(int count) {
    peerRequests = changing(count);
    return this;
  }

  /** Sets the rates at which operations may be called ({@code --api-rate-limit}). */
  public ApiContext rateLimits(RateLimits limits) {
    rateLimits = changing(limits);
    return this;
  }

  /** Sets whether the profiling API is served ({@code --pprof}). */
  public ApiContext profiling(boolean isServed) {
    profiling = changing(isServed);
    return this;
  }

  /** Sets who hears of each changing call. */
  public ApiContext events(AgentEvents heard) {
    events = changing(heard);
    return this;
  }

  Path socketPath() {
    return socketPath;
  }

  String socketGroup() {
    return socketGroup;
  }

  long maxBodyBytes() {
    return maxBodyBytes;
  }

  BodyLimits bodyLimits() {
    return bodyLimits;
  }

  int ioThreads() {
    return ioThreads;
  }

  long stallLimitMs() {
    return stallLimitMs;
  }

  int maxConnections() {
    return maxConnections;
  }

  int peerRequests() {
    return peerRequests;
  }

  AgentEvents events() {
    return events;
  }

  boolean profiling() {
    return profiling;
  }

  RateLimits rateLimits() {
    return rateLimits;
  }

  /**
   * Checks the values; no setter may be called after it.
   *
   * @throws IllegalArgumentException naming the option whose value is not valid
   */
  public ApiContext conclude() {
    if (socketPath == null) {
      throw new IllegalArgumentException("socket-path: is missing");
    }
    if (socketPath
            .toAbsolutePath()
            .toString()
            .getBytes(java.nio.charset.StandardCharsets.UTF_8)
            .length
        > LONGEST_PATH_BYTES) {
      throw new IllegalArgumentException(
          "socket-path: longer than " + LONGEST_PATH_BYTES + " bytes: " + socketPath);
    }
    positive(MAX_BODY.name(), maxBodyBytes);
    positive("I/O threads", ioThreads);
    positive("stall limit", stallLimitMs);
    positive("connections", maxConnections);
    if (peerRequests == 0) {
      peerRequests = Math.max(1, maxConnections / 2);
    }
    positive("requests of a peer", peerRequests);
    isConcluded = true;
    return this;
  }

  private static void positive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException(name + ": " + value + " is not above 0");
    }
  }

  private <T> T changing(T value) {
    if (isConcluded) {
      throw new IllegalStateException("the context is concluded");
    }
    return value;
  }
}
