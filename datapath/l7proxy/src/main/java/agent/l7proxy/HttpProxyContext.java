package agent.l7proxy;

import agent.datapath.spec.RedirectProxy;
import agent.policy.request.RequestPolicies;
import agent.types.NumberOption;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.function.IntFunction;

/** The configuration of {@link HttpProxy} until {@link #conclude()}; immutable after it. */
public final class HttpProxyContext {
  /** Retries of a failed request. */
  public static final NumberOption RETRY_COUNT = new NumberOption("http-retry-count", 3, 0);

  /** Seconds before a retry; 0: never. */
  public static final NumberOption RETRY_TIMEOUT = new NumberOption("http-retry-timeout", 0, 0);

  /** Seconds of the longest attempt to connect. */
  public static final NumberOption CONNECT_TIMEOUT =
      new NumberOption("proxy-connect-timeout", 1, 1, 3_600);

  /** Seconds of the longest request; 0: unlimited. */
  public static final NumberOption REQUEST_TIMEOUT =
      new NumberOption("http-request-timeout", 3_600, 0);

  /** Seconds that a stream may be idle; 0: unlimited. */
  public static final NumberOption IDLE_TIMEOUT = new NumberOption("http-idle-timeout", 0, 0);

  /** Seconds of the longest gRPC request; 0: unlimited. */
  public static final NumberOption GRPC_TIMEOUT = new NumberOption("http-max-grpc-timeout", 0, 0);

  private static final int MOST_THREADS = 4;

  /** The most descriptors: as many idle connections of clients need about 190 MB of heap. */
  public static final int MOST_DESCRIPTORS = 49_152;

  private boolean isConcluded;
  private RedirectProxy redirect;
  private RequestPolicies policies;
  private int threads = Math.min(Runtime.getRuntime().availableProcessors(), MOST_THREADS);
  private int descriptors = MOST_DESCRIPTORS;
  private int retries = RETRY_COUNT.standard();
  private Duration retryTimeout = Duration.ofSeconds(RETRY_TIMEOUT.standard());
  private Duration connectTimeout = Duration.ofSeconds(CONNECT_TIMEOUT.standard());
  private Duration requestTimeout = Duration.ofSeconds(REQUEST_TIMEOUT.standard());
  private Duration idleTimeout = Duration.ofSeconds(IDLE_TIMEOUT.standard());
  private Duration grpcTimeout = Duration.ofSeconds(GRPC_TIMEOUT.standard());
  private Duration headTimeout = Duration.ofSeconds(30);
  private EscapedSlashes escapedSlashes = EscapedSlashes.REJECT;
  private Path accessLog;
  private IntFunction<List<String>> labels = identity -> List.of();
  private RequestListener listener = request -> {};
  private InstantSource clock = InstantSource.system();
  private SocketTransport transport;

  /** Sets where flows are found. */
  public HttpProxyContext redirect(RedirectProxy value) {
    redirect = changing(value);
    return this;
  }

  /** Sets what judges requests. */
  public HttpProxyContext policies(RequestPolicies value) {
    policies = changing(value);
    return this;
  }

  /** Sets the number of event loops. */
  public HttpProxyContext threads(int value) {
    threads = changing(value);
    return this;
  }

  /** Sets how many descriptors the connections of clients and those to servers may have. */
  public HttpProxyContext descriptors(int value) {
    descriptors = changing(value);
    return this;
  }

  /** Sets {@code --http-retry-count}. */
  public HttpProxyContext retries(int value) {
    retries = changing(value);
    return this;
  }

  /** Sets {@code --http-retry-timeout}; zero: never. */
  public HttpProxyContext retryTimeout(Duration value) {
    retryTimeout = changing(value);
    return this;
  }

  /** Sets {@code --proxy-connect-timeout}. */
  public HttpProxyContext connectTimeout(Duration value) {
    connectTimeout = changing(value);
    return this;
  }

  /** Sets {@code --http-request-timeout}; zero: unlimited. */
  public HttpProxyContext requestTimeout(Duration value) {
    requestTimeout = changing(value);
    return this;
  }

  /** Sets {@code --http-idle-timeout}; zero: unlimited. */
  public HttpProxyContext idleTimeout(Duration value) {
    idleTimeout = changing(value);
    return this;
  }

  /** Sets {@code --http-max-grpc-timeout}; zero: unlimited. */
  public HttpProxyContext grpcTimeout(Duration value) {
    grpcTimeout = changing(value);
    return this;
  }

  /** Sets how long a client has for the head of a request. */
  HttpProxyContext headTimeout(Duration value) {
    headTimeout = changing(value);
    return this;
  }

  /** Sets {@code --http-escaped-slashes}. */
  public HttpProxyContext escapedSlashes(EscapedSlashes value) {
    escapedSlashes = changing(value);
    return this;
  }

  /** Sets {@code --access-log}; null: there is none. */
  public HttpProxyContext accessLog(Path value) {
    accessLog = changing(value);
    return this;
  }

  /** Sets what returns the labels of an identity for the access log; any thread asks it. */
  public HttpProxyContext labels(IntFunction<List<String>> value) {
    labels = changing(value);
    return this;
  }

  /** Sets what hears of each request. */
  public HttpProxyContext listener(RequestListener value) {
    listener = changing(value);
    return this;
  }

  /** Sets the clock of the access log. */
  HttpProxyContext clock(InstantSource value) {
    clock = changing(value);
    return this;
  }

  /** Sets how sockets are read and written; without it the best one is taken. */
  HttpProxyContext transport(SocketTransport value) {
    transport = changing(value);
    return this;
  }

  /**
   * Checks what was set; after it nothing can be set.
   *
   * @throws IllegalArgumentException for numbers out of range
   */
  public HttpProxyContext conclude() {
    Objects.requireNonNull(redirect, "redirect");
    Objects.requireNonNull(policies, "policies");
    if (threads < 1
        || descriptors < 2
        || retries < 0
        || retryTimeout.isNegative()
        || !connectTimeout.isPositive()
        || connectTimeout.toMillis() > Integer.MAX_VALUE
        || requestTimeout.isNegative()
        || idleTimeout.isNegative()
        || grpcTimeout.isNegative()
        || !headTimeout.isPositive()) {
      throw new IllegalArgumentException(
          "HTTP proxy: %d threads, %d descriptors, %d retries, timeouts: retry %s, connect %s, request %s, idle %s, gRPC %s, head %s"
              .formatted(
                  threads,
                  descriptors,
                  retries,
                  retryTimeout,
                  connectTimeout,
                  requestTimeout,
                  idleTimeout,
                  grpcTimeout,
                  headTimeout));
    }
    isConcluded = true;
    return this;
  }

  private <T> T changing(T value) {
    if (isConcluded) {
      throw new IllegalStateException("the context of the HTTP proxy is concluded");
    }
    return value;
  }

  RedirectProxy redirect() {
    return redirect;
  }

  RequestPolicies policies() {
    return policies;
  }

  /** Returns the number of event loops. */
  public int threads() {
    return threads;
  }

  /** Returns how many descriptors the connections of clients and those to servers may have. */
  public int descriptors() {
    return descriptors;
  }

  /** Returns how often a request is sent again. */
  public int retries() {
    return retries;
  }

  /** Returns how long a request waits for an answer before it is sent again; zero: never. */
  public Duration retryTimeout() {
    return retryTimeout;
  }

  /** Returns the longest attempt to connect. */
  public Duration connectTimeout() {
    return connectTimeout;
  }

  /** Returns the longest request; zero: unlimited. */
  public Duration requestTimeout() {
    return requestTimeout;
  }

  /** Returns how long a stream may be idle; zero: unlimited. */
  public Duration idleTimeout() {
    return idleTimeout;
  }

  /** Returns the longest gRPC request; zero: unlimited. */
  public Duration grpcTimeout() {
    return grpcTimeout;
  }

  /**
   * Returns how long a client has for the head of a request, from its first byte, and from the
   * connection to the end of the first head; also for what is left of a request that is refused.
   */
  Duration headTimeout() {
    return headTimeout;
  }

  /** Returns what becomes of escaped slashes in paths. */
  public EscapedSlashes escapedSlashes() {
    return escapedSlashes;
  }

  /** Returns the file of the access log; null: there is none. */
  public Path accessLog() {
    return accessLog;
  }

  IntFunction<List<String>> labels() {
    return labels;
  }

  RequestListener listener() {
    return listener;
  }

  InstantSource clock() {
    return clock;
  }

  SocketTransport transport() {
    return transport == null ? SocketTransport.best() : transport;
  }
}
