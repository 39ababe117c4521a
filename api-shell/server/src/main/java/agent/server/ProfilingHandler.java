package agent.server;

import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;
import io.undertow.util.Methods;
import io.undertow.util.StatusCodes;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.time.Duration;
import java.util.Deque;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Semaphore;
import javax.management.JMException;
import javax.management.ObjectName;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The profiling API (option {@code --pprof}), below {@code /debug/pprof/} of the API's socket:
 * threads, the classes on the heap, and a recording of the JVM. It is for debugging, so it is not
 * in the API's document. Every other request goes on to the API.
 */
final class ProfilingHandler implements HttpHandler {
  private static final Logger LOGGER = LogManager.getLogger(ProfilingHandler.class);
  private static final String ROOT = "/debug/pprof/";
  private static final String TEXT = "text/plain; charset=utf-8";
  private static final int DEFAULT_SEC = 10;
  private static final int LONGEST_SEC = 60;
  private static final long LARGEST_RECORDING_BYTES = 64L << 20;
  private static final String INDEX =
      """
      GET /debug/pprof/threads              stacks of all threads
      GET /debug/pprof/heap                 objects on the heap by class
      GET /debug/pprof/profile?seconds=10   a recording of the JVM (JFR), of at most 60 seconds
      """;

  private final HttpHandler api;
  private final ExecutorService workers;
  private final Semaphore recording = new Semaphore(1);

  ProfilingHandler(HttpHandler api, ExecutorService workers) {
    this.api = api;
    this.workers = workers;
  }

  @Override
  public void handleRequest(HttpServerExchange exchange) throws Exception {
    if (!exchange.getRequestURI().startsWith(ROOT)) {
      api.handleRequest(exchange);
      return;
    }
    ApiDispatcher.markRequest(exchange);
    if (!exchange.getRequestMethod().equals(Methods.GET)) {
      exchange.getResponseHeaders().put(Headers.ALLOW, "GET");
      answer(exchange, StatusCodes.METHOD_NOT_ALLOWED, "only GET is allowed\n");
      return;
    }
    LOGGER.info("api: GET {}", exchange.getRequestURI().replaceAll("\\p{Cntrl}", "?"));
    exchange.dispatch(workers, () -> serve(exchange));
  }

  private void serve(HttpServerExchange exchange) {
    try {
      switch (exchange.getRequestURI().substring(ROOT.length())) {
        case "" -> answer(exchange, StatusCodes.OK, INDEX);
        case "threads" -> answer(exchange, StatusCodes.OK, diagnostic("threadPrint", "-l"));
        case "heap" -> answer(exchange, StatusCodes.OK, diagnostic("gcClassHistogram"));
        case "profile" -> profile(exchange);
        default -> answer(exchange, StatusCodes.NOT_FOUND, INDEX);
      }
    } catch (IOException | ParseException | JMException | RuntimeException failure) {
      LOGGER.warn("api: profiling: {}", failure.getMessage(), failure);
      if (!exchange.isResponseStarted()) {
        answer(
            exchange,
            StatusCodes.INTERNAL_SERVER_ERROR,
            "profiling: " + failure.getMessage() + "\n");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns the answer of a command of the JVM (jcmd). */
  private static String diagnostic(String command, String... arguments) throws JMException {
    return (String)
        ManagementFactory.getPlatformMBeanServer()
            .invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"),
                command,
                new Object[] {arguments},
                new String[] {String[].class.getName()});
  }

  private void profile(HttpServerExchange exchange)
      throws IOException, ParseException, InterruptedException {
    final Deque<String> seconds = exchange.getQueryParameters().get("seconds");
    final String text = seconds == null ? Integer.toString(DEFAULT_SEC) : seconds.getFirst();
    final int sec = text.matches("[0-9]{1,2}") ? Integer.parseInt(text) : 0;
    if (sec < 1 || sec > LONGEST_SEC) {
      answer(
          exchange,
          StatusCodes.BAD_REQUEST,
          "seconds: a number from 1 to " + LONGEST_SEC + " is expected\n");
    } else if (!recording.tryAcquire()) {
      answer(exchange, StatusCodes.CONFLICT, "another recording is running\n");
    } else {
      try {
        sendRecording(exchange, sec);
      } finally {
        recording.release();
      }
    }
  }

  private static void sendRecording(HttpServerExchange exchange, int sec)
      throws IOException, ParseException, InterruptedException {
    final Path file = Files.createTempFile("agent-", ".jfr");
    try (Recording jvm = new Recording(Configuration.getConfiguration("profile"))) {
      jvm.setMaxSize(LARGEST_RECORDING_BYTES);
      jvm.start();
      Thread.sleep(Duration.ofSeconds(sec));
      jvm.stop();
      jvm.dump(file);
      exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/octet-stream");
      exchange.setResponseContentLength(Files.size(file));
      exchange.startBlocking();
      Files.copy(file, exchange.getOutputStream());
      exchange.endExchange();
    } finally {
      Files.delete(file);
    }
  }

  private static void answer(HttpServerExchange exchange, int status, String text) {
    exchange.setStatusCode(status);
    exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, TEXT);
    exchange.getResponseSender().send(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
  }
}
