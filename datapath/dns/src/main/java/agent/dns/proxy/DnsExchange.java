package agent.dns.proxy;

import agent.datapath.spec.RedirectedFlow;
import agent.dns.NameResolver.Resolved;
import agent.policy.request.RedirectCounters.FlowCounters;
import java.util.List;

/** A question on its way to a server and back. Used in turn ({@link ProxyLoop}). */
final class DnsExchange {
  static final Resolved NO_ADDRESS = new Resolved(List.of(), 0);

  /** Who asked. */
  interface Client {
    RedirectedFlow flow();

    /** Reads the identities of the ends of the flow again. */
    void refresh();

    /** Sends a reply, or drops it where the client does not take it. */
    void reply(byte[] message);

    /** A question begins, or ends. */
    void outstanding(int change);

    /** Returns the way to the server; null: there is no room for one. */
    Upstream upstream();
  }

  /** A socket to a server. */
  interface Upstream {
    /** Asks the server; returns false where that cannot be done now. */
    boolean ask(DnsExchange exchange);

    /** Forgets a question that has had no answer. */
    void forget(DnsExchange exchange);
  }

  final EndpointUse use;
  final FlowCounters counters;
  Client client;
  DnsQuestion question;
  Upstream upstream;
  long deadlineNs;

  /** How often the policies had changed when it was judged. */
  long judged;

  /** The identifier toward the server. */
  int identifier;

  /** The answer of the server; null: there is none yet. */
  byte[] answer;

  Resolved resolved = NO_ADDRESS;
  boolean isDone;

  DnsExchange(Client client, DnsQuestion question, EndpointUse use, FlowCounters counters) {
    this.client = client;
    this.question = question;
    this.use = use;
    this.counters = counters;
  }

  /** Drops the messages, since queues may still have this when it is done. */
  void clear() {
    client = null;
    question = null;
    answer = null;
    upstream = null;
  }
}
