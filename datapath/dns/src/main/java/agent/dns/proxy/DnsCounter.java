package agent.dns.proxy;

/** What the proxy counts. */
public enum DnsCounter {
  /** Messages of clients. */
  RECEIVED,
  /** Questions whose answer was passed on. */
  FORWARDED,
  /** Questions for names that policy does not allow. */
  DENIED,
  /** Messages that were refused or dropped: malformed, over a limit, or the server failed. */
  ERROR,
  /** Answers that belong to no question: of another identifier or question, or late. */
  SPOOFED,
  /** Questions that no server answered in time. */
  TIMED_OUT,
  /** Answers that were replaced since the rules did not use their addresses in time. */
  UNENFORCED,
  /** Answers that were passed on without the addresses that a limit keeps out of the rules. */
  CUT,
  /** Packets and connections that the datapath has not sent. */
  UNKNOWN_FLOW
}
