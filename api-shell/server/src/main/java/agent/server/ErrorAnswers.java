package agent.server;

import agent.types.OperationException;
import agent.types.Refusal;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The answer to a request that failed.
 *
 * @param status HTTP status code
 * @param message one line: the field and what is wrong with it
 * @param headers additional headers of the answer
 */
record ErrorAnswers(int status, String message, Map<String, String> headers) {
  private static final Logger LOGGER = LogManager.getLogger(ErrorAnswers.class);
  private static final int BAD_REQUEST = 400;
  private static final int TOO_LARGE = 413;
  private static final int INTERNAL = 500;
  private static final int LONGEST_MESSAGE = 1024;

  /** Cuts a long message in its middle, because it is logged, too. */
  ErrorAnswers {
    if (message.length() > LONGEST_MESSAGE) {
      final int half = LONGEST_MESSAGE / 2;
      message = message.substring(0, half) + " ... " + message.substring(message.length() - half);
    }
  }

  static ErrorAnswers of(Route route, Throwable thrown) {
    final Throwable cause = unwrapped(thrown);
    return switch (cause) {
      case HttpRefusal refusal ->
          new ErrorAnswers(refusal.status(), refusal.getMessage(), refusal.headers());
      case Refusal refusal ->
          new ErrorAnswers(route.statusOf(refusal), refusal.getMessage(), Map.of());
      case OperationException failure -> new ErrorAnswers(INTERNAL, failure.getMessage(), Map.of());
      case BoundedBody.TooLargeException tooLarge ->
          new ErrorAnswers(TOO_LARGE, tooLarge.getMessage(), Map.of());
      case DecodedBody.NotGzipException coding ->
          new ErrorAnswers(BAD_REQUEST, coding.getMessage(), Map.of());
      case BoundedBody.ClientGoneException gone ->
          new ErrorAnswers(BAD_REQUEST, "body: incomplete", Map.of());
      default -> internal(route, cause);
    };
  }

  private static ErrorAnswers internal(Route route, Throwable cause) {
    LOGGER.error(
        "api: {} failed: {}",
        route == null ? "a request" : route.operationId(),
        cause.toString(),
        cause);
    final String said = cause.getMessage() == null ? "" : cause.getMessage();
    final String firstLine = said.lines().findFirst().orElse("see the log of the agent");
    return new ErrorAnswers(INTERNAL, "internal error: " + firstLine, Map.of());
  }

  static Throwable unwrapped(Throwable thrown) {
    Throwable cause = thrown;
    while ((cause instanceof CompletionException
            || cause instanceof ExecutionException
            || cause instanceof tools.jackson.core.exc.JacksonIOException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }
}
