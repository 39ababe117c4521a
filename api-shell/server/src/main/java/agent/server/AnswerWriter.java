package agent.server;

import io.undertow.io.UndertowOutputStream;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.json.JsonMapper;

/** Writes answers to the socket. */
final class AnswerWriter {
  private static final String JSON = "application/json";

  private final JsonMapper mapper;

  AnswerWriter(JsonMapper mapper) {
    this.mapper = mapper;
  }

  void write(HttpServerExchange exchange, Answer answer) throws Exception {
    exchange.setStatusCode(answer.status());
    switch (answer.body()) {
      case Answer.Json(Object value) -> send(exchange, JSON, mapper.writeValueAsBytes(value));
      case Answer.Rendered(ByteBuffer bytes) -> writeRendered(exchange, bytes);
      case Answer.Text(String contentType, String text) ->
          send(exchange, contentType, text.getBytes(StandardCharsets.UTF_8));
      case Answer.Streamed(Answer.JsonWriter writer) -> stream(exchange, writer);
      case Answer.Empty() -> exchange.endExchange();
    }
  }

  /** Writes JSON that is encoded already; the buffer is shared and not changed. */
  void writeRendered(HttpServerExchange exchange, ByteBuffer bytes) {
    exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, JSON);
    exchange.getResponseSender().send(bytes.duplicate());
  }

  void writeFailure(HttpServerExchange exchange, ErrorAnswers failure) {
    exchange.setStatusCode(failure.status());
    failure
        .headers()
        .forEach(
            (name, value) ->
                exchange.getResponseHeaders().put(new io.undertow.util.HttpString(name), value));
    send(exchange, JSON, mapper.writeValueAsBytes(failure.message()));
  }

  private static void send(HttpServerExchange exchange, String contentType, byte[] bytes) {
    exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, contentType);
    exchange.getResponseSender().send(ByteBuffer.wrap(bytes));
  }

  private void stream(HttpServerExchange exchange, Answer.JsonWriter writer) throws Exception {
    exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, JSON);
    exchange.startBlocking();
    final OutputStream out = exchange.getOutputStream();
    try {
      final JsonGenerator json = mapper.createGenerator(out);
      writer.writeTo(json);
      json.close();
      exchange.endExchange();
    } catch (Exception e) {
      if (exchange.isResponseStarted()) {
        throw new TruncatedAnswerException(e);
      }
      ((UndertowOutputStream) out).resetBuffer();
      throw e;
    }
  }

  /**
   * A streamed answer failed after its start: the connection is closed, which shows it to the
   * client.
   */
  static final class TruncatedAnswerException extends IOException {
    private static final long serialVersionUID = 1L;

    TruncatedAnswerException(Exception cause) {
      super(cause);
    }
  }
}
