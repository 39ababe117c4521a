package agent.server;

import agent.bindings.net.PeerCredentials;
import agent.server.monitor.AgentEvents;
import agent.server.socket.Peer;
import agent.server.socket.UnixStreamConnection;
import io.undertow.server.ExchangeCompletionListener;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.protocol.http.HttpServerConnection;
import io.undertow.util.HeaderMap;
import io.undertow.util.Headers;
import io.undertow.util.HttpString;
import io.undertow.util.Methods;
import io.undertow.util.Protocols;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.xnio.IoUtils;
import tools.jackson.databind.json.JsonMapper;

/**
 * Finds the route of an HTTP exchange, checks the request, runs the handler and writes the answer.
 */
final class ApiDispatcher implements HttpHandler {
  /** How many bytes of a refused body are read, in multiples of the largest accepted body. */
  static final int DRAINED_BODIES = 4;

  private static final Logger LOGGER = LogManager.getLogger(ApiDispatcher.class);
  private static final int VERSION_NOT_SUPPORTED = 505;
  private static final int FIRST_REFUSAL = 400;
  private static final Pattern CONTROL = Pattern.compile("\\p{Cntrl}");
  private static final HttpString BRIEF = new HttpString("brief");
  private static final String IDENTITY = "identity";
  private static final Set<String> GZIP = Set.of("gzip", "x-gzip");
  private static final ExchangeCompletionListener END_OF_REQUEST =
      (ended, next) -> {
        connection(ended).endRequest();
        next.proceed();
      };

  private final JsonMapper mapper;
  private final AnswerWriter answers;
  private final ExecutorService workers;
  private final ExecutorService watchWorkers;
  private final ReadWorkers readWorkers;
  private final RequestShares shares;
  private final long maxBodyBytes;
  private final AgentEvents events;
  private final AtomicLong changes = new AtomicLong();
  private final BodyLimits bodyLimits;
  private final BodyBudget bodies;
  private volatile RateLimits rateLimits;
  private volatile RouteTable routes;

  /**
   * Creates the dispatcher.
   *
   * @param workers runs requests
   * @param watchWorkers runs those of what watches the agent, which never wait for others
   */
  ApiDispatcher(
      ApiContext context,
      RouteTable routes,
      JsonMapper mapper,
      ExecutorService workers,
      ExecutorService watchWorkers) {
    this.routes = routes;
    this.mapper = mapper;
    this.answers = new AnswerWriter(mapper);
    this.workers = workers;
    this.watchWorkers = watchWorkers;
    this.readWorkers = new ReadWorkers(workers);
    this.shares = new RequestShares(context.maxConnections(), context.peerRequests());
    this.events = context.events();
    this.rateLimits = context.rateLimits();
    this.maxBodyBytes = context.maxBodyBytes();
    this.bodyLimits = context.bodyLimits();
    this.bodies = new BodyBudget(maxBodyBytes);
  }

  long changes() {
    return changes.get();
  }

  void serve(RouteTable table) {
    routes = table;
    changes.incrementAndGet();
  }

  void limit(RateLimits limits) {
    rateLimits = limits;
  }

  @Override
  public void handleRequest(HttpServerExchange exchange) {
    exchange.setDispatchExecutor(workers);
    LOGGER.trace("api: {} {}", exchange.getRequestMethod(), exchange.getRequestURI());
    markRequest(exchange);
    if (!exchange.isHttp11() && !exchange.isHttp10()) {
      refuseVersion(exchange);
      return;
    }
    if (isPlainRead(exchange)) {
      final RouteTable.Match match = routes.read(exchange.getRequestURI());
      final ByteBuffer rendered = match == null ? null : match.handler().rendered(changes.get());
      if (rendered != null) {
        send(exchange, match.route(), rendered);
        return;
      }
    }
    serveRoute(exchange);
  }

  /** The answer has a version of this server, RFC 9110 section 15.6.6. */
  private void refuseVersion(HttpServerExchange exchange) {
    final String asked = exchange.getProtocol().toString();
    exchange.setProtocol(Protocols.HTTP_1_1);
    exchange.setPersistent(false);
    fail(
        exchange,
        null,
        HttpRefusal.of(VERSION_NOT_SUPPORTED, "version: '" + asked + "' is not HTTP/1.1 or 1.0"));
  }

  /** Whether the request has nothing that could change the answer of its path. */
  private static boolean isPlainRead(HttpServerExchange exchange) {
    final HeaderMap headers = exchange.getRequestHeaders();
    return Methods.GET.equals(exchange.getRequestMethod())
        && exchange.isRequestComplete()
        && exchange.getQueryString().isEmpty()
        && !headers.contains(BRIEF)
        && !headers.contains(Headers.TRANSFER_ENCODING);
  }

  private void send(HttpServerExchange exchange, Route route, ByteBuffer rendered) {
    try {
      limitRate(route);
    } catch (HttpRefusal refusal) {
      fail(exchange, route, refusal);
      return;
    }
    answers.writeRendered(exchange, rendered);
  }

  private void serveRoute(HttpServerExchange exchange) {
    Route route = null;
    try {
      final RequestTarget target =
          RequestTarget.parse(exchange.getRequestURI(), exchange.getQueryString());
      final RouteTable.Match match =
          routes.find(exchange.getRequestMethod().toString(), target.segments());
      route = match.route();
      if (exchange.getRequestContentLength() > maxBodyBytes) {
        throw new BoundedBody.TooLargeException(maxBodyBytes);
      }
      limitRate(route);
      checkTransferCoding(exchange);
      checkContentType(exchange);
      checkContentCoding(exchange);
      final ExchangeBody body = new ExchangeBody(exchange, maxBodyBytes, bodies);
      final ApiRequest request =
          new ApiRequest(
              match,
              target.query(),
              exchange.getRequestHeaders()::getFirst,
              body,
              mapper,
              bodyLimits,
              changes.get());
      if (route.answersAtOnce() && exchange.isRequestComplete()) {
        answers.write(exchange, match.handler().handle(request));
      } else {
        exchange.dispatch(executor(exchange, route), () -> serve(exchange, match, request, body));
      }
    } catch (Exception e) {
      fail(exchange, route, e);
    }
  }

  /** Acquires the share of a request, and returns the executor that runs it. */
  private Executor executor(HttpServerExchange exchange, Route route) {
    final UnixStreamConnection connection = connection(exchange);
    connection.watchHangup();
    if (!route.isLimited()) {
      return watchWorkers;
    }
    final Peer peer = peer(connection);
    final Runnable end = shares.enter(peer);
    exchange.addExchangeCompleteListener(
        (ended, next) -> {
          end.run();
          next.proceed();
        });
    return route.verb().changes() ? workers : read -> readWorkers.execute(peer, read);
  }

  private static Peer peer(UnixStreamConnection connection) {
    try {
      return connection.peer();
    } catch (IOException | RuntimeException gone) {
      return Peer.UNKNOWN;
    }
  }

  /** While a request is at work, its connection is not closed for another client. */
  static void markRequest(HttpServerExchange exchange) {
    connection(exchange).beginRequest();
    exchange.addExchangeCompleteListener(END_OF_REQUEST);
  }

  private static UnixStreamConnection connection(HttpServerExchange exchange) {
    final HttpServerConnection connection = (HttpServerConnection) exchange.getConnection();
    return (UnixStreamConnection) connection.getChannel();
  }

  private void limitRate(Route route) {
    if (!route.isLimited()) {
      return;
    }
    final int waitSec = rateLimits.secondsUntilAllowed(route.operationClass());
    if (waitSec > 0) {
      throw HttpRefusal.withHeader(
          429,
          "rate limit of '" + route.operationClass().text() + "' operations exceeded",
          "Retry-After",
          Integer.toString(waitSec));
    }
  }

  /** The end of a body in another coding cannot be determined (RFC 9112 section 6.3). */
  private static void checkTransferCoding(HttpServerExchange exchange) {
    final String coding = exchange.getRequestHeaders().getFirst(Headers.TRANSFER_ENCODING);
    if (coding != null && !coding.strip().equalsIgnoreCase("chunked")) {
      exchange.setPersistent(false);
      throw HttpRefusal.badRequest("Transfer-Encoding", "'" + coding + "' is not chunked");
    }
  }

  private static void checkContentType(HttpServerExchange exchange) {
    final String contentType = exchange.getRequestHeaders().getFirst(Headers.CONTENT_TYPE);
    if (contentType != null && !exchange.isRequestComplete()) {
      final String mediaType = contentType.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
      if (!mediaType.equals("application/json")) {
        throw HttpRefusal.of(415, "Content-Type: '" + mediaType + "' is not application/json");
      }
    }
  }

  /** Refuses a body in a coding other than gzip, as RFC 9110 section 15.5.16 says. */
  private static void checkContentCoding(HttpServerExchange exchange) {
    final String coding = contentCoding(exchange);
    if (!coding.equals(IDENTITY) && !GZIP.contains(coding) && !exchange.isRequestComplete()) {
      throw HttpRefusal.withHeader(
          415, "Content-Encoding: '" + coding + "' is not gzip", "Accept-Encoding", "gzip");
    }
  }

  private static String contentCoding(HttpServerExchange exchange) {
    final String coding = exchange.getRequestHeaders().getFirst(Headers.CONTENT_ENCODING);
    return coding == null || coding.isBlank() ? IDENTITY : coding.strip().toLowerCase(Locale.ROOT);
  }

  private void serve(
      HttpServerExchange exchange, RouteTable.Match match, ApiRequest request, ExchangeBody body) {
    exchange.setDispatchExecutor(workers);
    final UnixStreamConnection connection = connection(exchange);
    if (connection.isGone() && !match.route().verb().changes()) {
      body.close();
      return; // no client reads the answer
    }
    connection.beginWork();
    try (body) {
      final Answer answer = match.handler().handle(request);
      body.close();
      count(match.route());
      logChange(exchange, match.route(), answer.status(), "");
      answers.write(exchange, answer);
    } catch (Exception e) {
      fail(exchange, match.route(), e);
    } finally {
      connection.endWork();
    }
  }

  /** Ends the validity of rendered answers before a change is answered. */
  private void count(Route route) {
    if (route != null && route.verb().changes()) {
      changes.incrementAndGet();
    }
  }

  private void fail(HttpServerExchange exchange, Route route, Exception thrown) {
    count(route);
    final Throwable cause = ErrorAnswers.unwrapped(thrown);
    if (exchange.isResponseStarted() || cause instanceof AnswerWriter.TruncatedAnswerException) {
      logTruncation(exchange, cause);
      IoUtils.safeClose(exchange.getConnection());
      return;
    }
    final ErrorAnswers failure = ErrorAnswers.of(route, thrown);
    logChange(exchange, route, failure.status(), failure.message());
    if (cause instanceof BoundedBody.ClientGoneException) {
      exchange.setPersistent(false);
    }
    if (failure.status() == 413) {
      refuseBody(exchange, failure);
    } else {
      answers.writeFailure(exchange, failure);
    }
  }

  /**
   * A status that was sent cannot be changed: the client sees that its answer lacks the end. The
   * failure of the socket is the client's doing, that of the source is the agent's.
   */
  private static void logTruncation(HttpServerExchange exchange, Throwable cause) {
    final Throwable source =
        cause instanceof AnswerWriter.TruncatedAnswerException
            ? ErrorAnswers.unwrapped(cause.getCause())
            : cause;
    if (source instanceof IOException) {
      LOGGER.debug("api: the client closed the connection: {}", source.toString());
    } else {
      LOGGER.warn(
          "api: the answer to {} {} was aborted: {}",
          exchange.getRequestMethod(),
          CONTROL.matcher(exchange.getRequestURI()).replaceAll("?"),
          source.getMessage(),
          source);
    }
  }

  /**
   * Sends the answer and then reads a bounded part of the body: a client that is still sending
   * would otherwise see the closed connection before the answer.
   */
  private void refuseBody(HttpServerExchange exchange, ErrorAnswers failure) {
    if (exchange.isInIoThread()) {
      exchange.dispatch(workers, () -> refuseBody(exchange, failure));
      return;
    }
    try {
      exchange.setPersistent(false);
      if (!exchange.isBlocking()) {
        exchange.setMaxEntitySize(-1);
        exchange.startBlocking();
      }
      final byte[] message = mapper.writeValueAsBytes(failure.message());
      exchange.setStatusCode(failure.status());
      exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/json");
      exchange.setResponseContentLength(message.length);
      exchange.getOutputStream().write(message);
      exchange.getOutputStream().close();
      drain(exchange.getInputStream());
    } catch (IOException | RuntimeException e) {
      LOGGER.debug(
          "api: the client closed the connection while its body was being rejected: {}",
          e.toString());
    } finally {
      IoUtils.safeClose(exchange.getConnection());
    }
  }

  private void drain(InputStream body) throws IOException {
    final byte[] chunk = new byte[16 * 1024];
    long drained = 0;
    for (int count = 0; count >= 0 && drained < DRAINED_BODIES * maxBodyBytes; drained += count) {
      count = body.read(chunk);
    }
  }

  private void logChange(HttpServerExchange exchange, Route route, int status, String message) {
    if (route == null || !route.verb().changes()) {
      return;
    }
    final String peer = peer(exchange);
    final String said = CONTROL.matcher(message).replaceAll("?");
    if (status < FIRST_REFUSAL) {
      LOGGER.info(ApiServer.CARRIED_OUT, route.verb(), exchange.getRequestURI(), status, peer);
    } else {
      LOGGER.info(
          "api: {} {} {} by {}: {}", route.verb(), exchange.getRequestURI(), status, peer, said);
    }
    if (events.isHeard()) {
      events.publish(
          Map.of(
              "kind",
              "api",
              "method",
              route.verb().toString(),
              "path",
              exchange.getRequestURI(),
              "status",
              status,
              "client",
              peer,
              "message",
              said));
    }
  }

  private static String peer(HttpServerExchange exchange) {
    try {
      final PeerCredentials peer = connection(exchange).credentials();
      return "pid=" + peer.pid() + " uid=" + peer.uid() + " gid=" + peer.gid();
    } catch (IOException | RuntimeException e) {
      return "a peer that closed the connection";
    }
  }

  private static final class ExchangeBody implements ApiRequest.Body, AutoCloseable {
    private final HttpServerExchange exchange;
    private final long maxBytes;
    private final BodyBudget budget;
    private BodyBudget.Share share;

    ExchangeBody(HttpServerExchange exchange, long maxBytes, BodyBudget budget) {
      this.exchange = exchange;
      this.maxBytes = maxBytes;
      this.budget = budget;
    }

    @Override
    public boolean isPresent() {
      return !exchange.isRequestComplete();
    }

    @Override
    public InputStream open() {
      if (!exchange.isBlocking()) {
        exchange.startBlocking();
      }
      final boolean isCompressed = GZIP.contains(contentCoding(exchange));
      share = budget.take(isCompressed ? -1 : exchange.getRequestContentLength());
      final InputStream sent = new BoundedBody(exchange.getInputStream(), maxBytes, share);
      return isCompressed ? new DecodedBody(sent, maxBytes, share) : sent;
    }

    /** Returns the share of the budget: what was decoded is no longer needed. */
    @Override
    public void close() {
      if (share != null) {
        share.close();
      }
    }
  }
}
