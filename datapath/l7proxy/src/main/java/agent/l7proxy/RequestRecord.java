package agent.l7proxy;

import agent.datapath.spec.RedirectedFlow;
import java.time.Instant;
import java.util.List;

/**
 * What became of a request.
 *
 * @param time when its head was read
 * @param protocol {@code HTTP/1.0}, {@code HTTP/1.1} or {@code HTTP/2}
 * @param method empty: it could not be read
 * @param path path and query in the form that was judged
 * @param host the host without the port
 * @param status the status of the answer; 0: there was none
 * @param durationMs how long it took until the end of the answer
 * @param missingHeaders the fields whose mismatch a rule logs
 */
public record RequestRecord(
    Instant time,
    Verdict verdict,
    RedirectedFlow flow,
    String protocol,
    String method,
    String path,
    String host,
    int status,
    long durationMs,
    List<String> missingHeaders) {
  /** What was done with it. */
  public enum Verdict {
    /** The server got it. */
    FORWARDED("Forwarded"),
    /** Policy does not allow it. */
    DENIED("Denied"),
    /** It is not valid, or the server has not answered it. */
    ERROR("Error");

    private final String text;

    Verdict(String text) {
      this.text = text;
    }

    /** Returns the spelling of the access log. */
    public String text() {
      return text;
    }
  }

  /** Returns whether a local endpoint is the client; else one is the server. */
  public boolean isEgress() {
    return flow.clientEndpoint() != 0;
  }
}
