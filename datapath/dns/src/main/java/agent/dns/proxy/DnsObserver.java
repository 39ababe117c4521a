package agent.dns.proxy;

import agent.datapath.spec.RedirectedFlow;
import agent.types.IpAddress;
import java.util.List;

/** Hears of every question, once, when it ends. */
@FunctionalInterface
public interface DnsObserver {
  /** What became of a question. */
  enum Verdict {
    /** The answer of the server was passed on. */
    FORWARDED,
    /** Policy does not allow the name; the server was not asked. */
    DENIED,
    /** There was no answer in time, or none that could be passed on. */
    ERROR
  }

  /**
   * A question.
   *
   * @param flow the client and the server
   * @param name in lower case, with a dot at the end
   * @param type the number of the record type (RFC 1035 section 3.2.2)
   * @param responseCode of the answer to the client; -1: there was none
   * @param addresses that the answer has for the name
   * @param ttlSec the least time to live of these; 0 without addresses
   */
  record Event(
      RedirectedFlow flow,
      String name,
      int type,
      int responseCode,
      Verdict verdict,
      List<IpAddress> addresses,
      long ttlSec) {}

  /** Called where the proxy works; it must be short. */
  void onQuestion(Event event);
}
