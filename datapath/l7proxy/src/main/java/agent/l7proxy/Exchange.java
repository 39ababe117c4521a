package agent.l7proxy;

import agent.l7proxy.RequestRecord.Verdict;
import agent.policy.request.HttpVerdict;
import agent.policy.request.RedirectCounters.Count;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.util.ReferenceCountUtil;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * One request and its response. Only what policy has allowed is written to a server, and either end
 * is read only while the other one takes more. Runs on the event loop of the client.
 */
final class Exchange {
  private static final Logger LOGGER = LogManager.getLogger(Exchange.class);

  /** A refused request is read to its end if no more than this follows. */
  private static final long MOST_DRAINED_BYTES = 64 * 1024;

  private enum State {
    /** There is no connection to the server yet. */
    CONNECTING,
    /** The server has the request, or its beginning. */
    FORWARDING,
    /** The proxy has answered, and what is left of the request is read. */
    DRAINING,
    ENDED
  }

  private final ClientConnection connection;
  private final ExchangeTimers timers;
  private final boolean isServerHttp2;
  private final WaitingBody waiting = new WaitingBody();
  private final RequestReport report;
  private ClientHandler handler;
  private Channel client;
  private State state = State.CONNECTING;
  private JudgedRequest request;
  private Channel server;
  private ServerHandler serverHandler;
  private ResponseHead response;
  private int attempts = 1;
  private long drainedBytes;
  private boolean isHead;
  private boolean isForwarded;
  private boolean isRequestEnded;
  private boolean isBodySent;
  private boolean isResponseEnded;
  private boolean isInformational;
  private boolean isKept;

  Exchange(ClientHandler handler, Channel client) {
    this.handler = handler;
    this.client = client;
    connection = handler.connection();
    isServerHttp2 = connection.upstream().isHttp2();
    timers = new ExchangeTimers(client.eventLoop());
    report = new RequestReport(connection, client.eventLoop().ticker());
  }

  /** The answer goes to a stream of HTTP/2: the request has ended, and is asked for now. */
  void moved(ClientHandler newHandler, Channel stream) {
    handler = newHandler;
    client = stream;
    connection.upstream().open(this);
  }

  /** The head of a request; isWhole: there is no body and no end to come. */
  void start(HttpRequest head, boolean isWhole) {
    isRequestEnded = isWhole;
    isHead = head.method().equals(HttpMethod.HEAD);
    connection.count(Count.REQUEST_RECEIVED);
    report.protocol(handler.isHttp2() ? "HTTP/2" : head.protocolVersion().text());
    report.request(head.method().name(), head.uri(), "");
    try {
      request = JudgedRequest.of(head, handler.isHttp2(), isServerHttp2, connection.slashes());
    } catch (BadRequestException e) {
      refuse(e);
      return;
    }
    isKept = !request.wantsClose();
    final HttpVerdict verdict = connection.judge(request);
    report.request(request.method(), request.path(), request.host());
    report.missingHeaders(request.apply(verdict.changes()));
    if (!verdict.allowed()) {
      connection.count(Count.REQUEST_DENIED);
      report.ended(Verdict.DENIED, HttpResponseStatus.FORBIDDEN.code());
      isKept &= request.isSmall(MOST_DRAINED_BYTES);
      reply(text(HttpResponseStatus.FORBIDDEN, LocalReply.DENIED));
      return;
    }
    request.toHttp11(connection.flow());
    connection.began(this, request);
    timers.start(connection.context(), request, this::timedOut);
    if (!handler.isUpgrading()) {
      open();
    }
  }

  /** Policy does not allow it any more: a tunnel ends, too. */
  void revoke() {
    report.ended(Verdict.DENIED, response == null ? 0 : response.status());
    if (server != null) {
      serverHandler.end(); // else the end of the connection is taken for a failure of the server
      Upstream.reset(server);
    }
    abort("not allowed any more", Http2Error.CANCEL);
  }

  private void open() {
    if (state == State.CONNECTING) {
      connection.upstream().open(this);
    }
  }

  /** Answers 400 or 408; how the bytes after the request are to be read is not known. */
  private void refuse(BadRequestException problem) {
    final HttpResponseStatus status = problem.status();
    LOGGER.debug("{}: {}: {}", connection.flow(), status, problem.getMessage());
    connection.count(Count.REQUEST_ERROR);
    report.ended(Verdict.ERROR, status.code());
    isKept = false;
    reply(text(status, "Bad request: " + problem.getMessage()));
  }

  /** The body is not valid: what the server has of the request stays incomplete. */
  private void badBody(BadRequestException problem) {
    if (state == State.DRAINING || state != State.ENDED && response != null) {
      abort(problem.getMessage(), Http2Error.INTERNAL_ERROR);
    } else if (state != State.ENDED) {
      refuse(problem);
    }
  }

  /** A part of the body; takes it over. */
  void content(HttpContent body) {
    if (body.decoderResult().isFailure()) {
      body.release();
      badBody(BadRequestException.of(body.decoderResult().cause()));
      return;
    }
    final boolean isLast = body instanceof LastHttpContent;
    isRequestEnded |= isLast;
    timers.traffic();
    WaitingBody.removeTrailers(body, request.judgedNames());
    switch (state) {
      case CONNECTING -> {
        waiting.add(body);
        if (isLast && handler.isUpgrading()) {
          handler.upgrade(client);
        }
      }
      case FORWARDING -> {
        isBodySent |= body.content().isReadable();
        server.write(body);
        if (isLast && isResponseEnded) {
          server.flush();
          end();
        }
      }
      case DRAINING -> {
        drainedBytes += body.content().readableBytes();
        body.release();
        isKept &= isLast || drainedBytes <= MOST_DRAINED_BYTES;
        if (isLast || !isKept) {
          end();
        }
      }
      default -> body.release();
    }
  }

  /** There is a connection or a stream for this request. */
  void connected(Channel channel) {
    if (state != State.CONNECTING) {
      channel.close();
      return;
    }
    state = State.FORWARDING;
    server = channel;
    serverHandler = (ServerHandler) channel.pipeline().last();
    serverHandler.begin(this, request);
    if (!isForwarded) {
      isForwarded = true;
      connection.count(Count.REQUEST_FORWARDED);
    }
    if (isRequestEnded && waiting.isEmpty()) {
      channel.write(request.withoutBody());
    } else {
      channel.write(request.head());
      isBodySent |= waiting.writeTo(channel);
    }
    channel.flush();
    channel.read();
    if (mayRepeat() && attempts <= connection.context().retries()) {
      timers.retry(connection.context().retryTimeout(), this::notAnswered);
    }
    readClient();
  }

  /** There is no connection, or no descriptor for one (null); nothing of the request was sent. */
  void notConnected(Throwable cause) {
    if (state != State.CONNECTING) {
      return;
    }
    if (cause != null && attempts <= connection.context().retries()) {
      attempts++;
      client.eventLoop().execute(this::open);
    } else {
      LOGGER.debug("{}: {}", connection.flow(), String.valueOf(cause));
      fail(HttpResponseStatus.SERVICE_UNAVAILABLE, LocalReply.NO_SERVER);
    }
  }

  /** Whether the server may get the request again, and all of it is still here. */
  private boolean mayRepeat() {
    return response == null && !isBodySent && !isSentWhole() && request.isIdempotent();
  }

  /** A body that is empty but was ended in a part of its own cannot be ended again. */
  private boolean isSentWhole() {
    return request.hasBody() && isRequestEnded;
  }

  private void notAnswered() {
    if (mayRepeat()) {
      repeat();
    }
  }

  /** Asks again on another connection or stream. */
  private void repeat() {
    attempts++;
    leaveServer();
    state = State.CONNECTING;
    open();
  }

  /** A part of the response; takes it over. */
  void response(HttpObject part) {
    if (state != State.FORWARDING) {
      ReferenceCountUtil.release(part);
      return;
    }
    timers.traffic();
    if (part.decoderResult().isFailure()) {
      badResponse(part);
      return;
    }
    if (part instanceof HttpResponse head && !takeHead(head)) {
      return;
    }
    if (isInformational && part instanceof LastHttpContent) {
      isInformational = false;
      ReferenceCountUtil.release(part);
      return;
    }
    if (response == null) {
      badResponse(part);
      return;
    }
    WaitingBody.removeTrailers(part, WaitingBody.NO_NAMES);
    client.write(part);
    if (part instanceof LastHttpContent) {
      responseEnded();
    }
  }

  /** Returns whether a response that has come as a whole may go to the client as it is. */
  boolean takesWhole() {
    return response == null && isKept && !handler.isHttp2() && request.isAnsweredWithBody();
  }

  /** The response, as the client gets it. */
  void wholeResponse(int status, ByteBuf bytes) {
    connection.count(Count.RESPONSE_RECEIVED);
    response = ResponseHead.asItCame(status);
    client.write(bytes);
    responseEnded();
  }

  /** Returns whether the head is to be written as it is now. */
  private boolean takeHead(HttpResponse head) {
    timers.stopRetry();
    final ResponseHead read =
        ResponseHead.of(head, request, handler.isHttp2(), isServerHttp2, isKept);
    if (read.isRefused() || response != null) {
      badResponse(head);
      return false;
    }
    if (read.isInformational()) {
      isInformational = !isServerHttp2 && !(head instanceof FullHttpResponse);
      read.writeInformational(client);
      ReferenceCountUtil.release(head);
      return false;
    }
    connection.count(Count.RESPONSE_RECEIVED);
    response = read;
    isKept = read.isClientKept();
    return true;
  }

  private void responseEnded() {
    isResponseEnded = true;
    connection.count(Count.RESPONSE_FORWARDED);
    client.flush();
    if (response.isTunnel()) {
      report.ended(Verdict.FORWARDED, response.status());
      timers.stop();
      state = State.ENDED;
      TunnelHandler.join(client, server, connection.context().idleTimeout());
    } else if (isRequestEnded) {
      end();
    } else if (!response.isServerKept() && !isServerHttp2) {
      endAndClose();
    }
  }

  private void badResponse(HttpObject part) {
    ReferenceCountUtil.release(part);
    if (response != null) {
      abort("the response is not valid", Http2Error.INTERNAL_ERROR);
    } else {
      fail(HttpResponseStatus.BAD_GATEWAY, LocalReply.BAD_RESPONSE);
    }
  }

  void serverReadComplete() {
    client.flush();
    readServer();
  }

  /** Reads more of the response if the client takes it. */
  void readServer() {
    if (state == State.FORWARDING && client.isWritable()) {
      server.read();
    }
  }

  /** Sends on what was read of the request, and reads more of it. */
  void clientReadComplete() {
    if (state == State.FORWARDING) {
      server.flush();
    }
    readClient();
  }

  /** Reads more of the request if it is wanted, or watches for the end of the connection. */
  void readClient() {
    if (isRequestEnded
        ? !handler.isNextWaiting()
        : state == State.DRAINING || state == State.FORWARDING && server.isWritable()) {
      client.read();
    }
  }

  void serverReset(long code) {
    final Http2Error error = Http2Error.valueOf(code);
    if (error == Http2Error.NO_ERROR && isResponseEnded) {
      endAndClose();
    } else if (response != null) {
      abort("the server has reset the stream", error == null ? Http2Error.INTERNAL_ERROR : error);
    } else {
      serverLost(error == Http2Error.REFUSED_STREAM && !isBodySent && !isSentWhole());
    }
  }

  void serverClosed(String problem) {
    if (isResponseEnded) {
      endAndClose();
    } else if (response != null) {
      abort(problem, Http2Error.INTERNAL_ERROR);
    } else {
      serverLost(mayRepeat());
    }
  }

  private void serverLost(boolean isRepeated) {
    if (isRepeated && attempts <= connection.context().retries()) {
      repeat();
    } else {
      fail(HttpResponseStatus.SERVICE_UNAVAILABLE, LocalReply.NO_SERVER);
    }
  }

  private void timedOut(String problem) {
    if (response != null) {
      if (request.isGrpc() && !isResponseEnded) {
        client.writeAndFlush(LocalReply.grpcTimeoutAtEnd());
      }
      abort(problem, Http2Error.INTERNAL_ERROR);
    } else if (request.isGrpc()) {
      failed(HttpResponseStatus.OK);
      reply(LocalReply.grpcTimeout());
    } else {
      fail(HttpResponseStatus.GATEWAY_TIMEOUT, LocalReply.TIMEOUT);
    }
  }

  private void fail(HttpResponseStatus status, String text) {
    LOGGER.debug("{}: {}: {}", connection.flow(), status, text);
    failed(status);
    isKept &= isRequestEnded || request.isSmall(MOST_DRAINED_BYTES);
    reply(text(status, text));
  }

  private void failed(HttpResponseStatus status) {
    connection.count(Count.RESPONSE_ERROR);
    report.ended(Verdict.ERROR, status.code());
  }

  private FullHttpResponse text(HttpResponseStatus status, String text) {
    return LocalReply.text(status, text, isHead, !isKept && !handler.isHttp2());
  }

  /** Answers in place of the server. */
  private void reply(FullHttpResponse answer) {
    leaveServer();
    state = State.DRAINING;
    timers.stop();
    client.writeAndFlush(answer);
    if (!isKept || isRequestEnded) {
      end();
    } else {
      timers.drain(connection.context().headTimeout(), this::endAndClose);
      readClient();
    }
  }

  /** What is left of the request has not come in time, is too long, or is not wanted. */
  private void endAndClose() {
    isKept = false;
    end();
  }

  /** Ends the response where it is, so that the client does not take it for whole. */
  private void abort(String problem, Http2Error error) {
    LOGGER.debug("{}: {}", connection.flow(), problem);
    if (response != null && !isResponseEnded) {
      connection.count(Count.RESPONSE_ERROR);
    }
    clientClosed();
    handler.abort(client, error);
  }

  void clientInputClosed() {
    if (state == State.DRAINING) {
      endAndClose();
    } else if (!isRequestEnded) {
      client.close();
    }
  }

  void clientClosed() {
    report.ended(Verdict.ERROR, response == null ? 0 : response.status());
    leaveServer();
    state = State.ENDED;
    timers.stop();
    waiting.release();
  }

  /** Ends the connection to the server, or the stream, within its response. */
  private void leaveServer() {
    timers.stopRetry();
    if (server != null) {
      serverHandler.end();
      server.close();
      server = null;
    }
  }

  /** The response has ended, and the request has as far as it is wanted. */
  private void end() {
    state = State.ENDED;
    timers.stop();
    waiting.release();
    if (response != null) {
      report.ended(Verdict.FORWARDED, response.status());
    }
    if (server != null && isRequestEnded && response != null && response.isServerKept()) {
      serverHandler.end();
      if (!isServerHttp2) {
        connection.upstream().keep(server);
      }
      server = null;
    } else {
      leaveServer();
    }
    if (handler.isHttp2() && !isRequestEnded) {
      handler.close(client);
    } else {
      handler.ended(client, isKept && !handler.isHttp2());
    }
  }
}
