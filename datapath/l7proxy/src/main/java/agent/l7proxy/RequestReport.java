package agent.l7proxy;

import agent.l7proxy.RequestRecord.Verdict;
import io.netty.util.concurrent.Ticker;
import java.time.Instant;
import java.util.List;

/** Collects what the access log says of a request, and reports it once. */
final class RequestReport {
  private final ClientConnection connection;
  private final Instant time;
  private final Ticker ticker;
  private final long startNs;
  private String protocol = "";
  private String method = "";
  private String path = "";
  private String host = "";
  private List<String> missingHeaders = List.of();
  private boolean isReported;

  /**
   * Begins the report of a request whose head was read.
   *
   * @param ticker that of the event loop
   */
  RequestReport(ClientConnection connection, Ticker ticker) {
    this.connection = connection;
    this.ticker = ticker;
    startNs = ticker.nanoTime();
    time = connection.context().clock().instant();
  }

  void protocol(String value) {
    protocol = value;
  }

  /** Sets what was asked for. */
  void request(String askedMethod, String askedPath, String askedHost) {
    method = askedMethod;
    path = askedPath;
    host = askedHost;
  }

  void missingHeaders(List<String> value) {
    missingHeaders = value;
  }

  /**
   * Reports the request, if it is not yet.
   *
   * @param status of the answer; 0: there is none
   */
  void ended(Verdict verdict, int status) {
    if (isReported) {
      return;
    }
    isReported = true;
    connection.report(
        new RequestRecord(
            time,
            verdict,
            connection.flow(),
            protocol,
            method,
            path,
            host,
            status,
            (ticker.nanoTime() - startNs) / 1_000_000,
            missingHeaders));
  }
}
