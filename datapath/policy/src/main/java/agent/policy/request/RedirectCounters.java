package agent.policy.request;

import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectStatistics.Messages;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the messages of one proxy by endpoint, direction and port of the server. A flow counts for
 * each of its ends whose policy sends it to this proxy. Any thread may call.
 */
public final class RedirectCounters {
  /** Beyond them, the counters of an endpoint that have had no flow for the longest time go. */
  static final int MOST_OF_ENDPOINT = 128;

  private final RequestPolicies policies;
  private final RedirectKind kind;
  private final Map<Integer, EndpointCounters> endpoints = new HashMap<>();

  /** What is counted. */
  public enum Count {
    REQUEST_RECEIVED,
    REQUEST_FORWARDED,
    REQUEST_DENIED,
    REQUEST_ERROR,
    RESPONSE_RECEIVED,
    RESPONSE_FORWARDED,
    RESPONSE_ERROR
  }

  private record Key(PolicyDirection direction, int port) {}

  /** The counters of an endpoint, those of its last flow at the end. */
  private static final class EndpointCounters extends LinkedHashMap<Key, LongAdder[]> {
    private static final long serialVersionUID = 1L;

    EndpointCounters() {
      super(4, 0.75f, true);
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<Key, LongAdder[]> eldest) {
      return size() > MOST_OF_ENDPOINT;
    }
  }

  /**
   * Creates counters without a flow.
   *
   * @param policies tell which end redirects a flow
   * @param kind the proxy
   */
  public RedirectCounters(RequestPolicies policies, RedirectKind kind) {
    this.policies = policies;
    this.kind = kind;
  }

  /** Returns the counters of a flow that begins now. */
  public synchronized FlowCounters of(RedirectedFlow flow) {
    return new FlowCounters(
        adders(flow, flow.clientEndpoint(), PolicyDirection.EGRESS),
        adders(flow, flow.serverEndpoint(), PolicyDirection.INGRESS));
  }

  /**
   * The policy of a removed endpoint has gone before {@link #forget}, so that nothing comes after.
   */
  private LongAdder[] adders(RedirectedFlow flow, int endpoint, PolicyDirection direction) {
    return policies.redirect(flow, direction) != kind
        ? null
        : endpoints
            .computeIfAbsent(endpoint, id -> new EndpointCounters())
            .computeIfAbsent(new Key(direction, flow.serverPort()), key -> adders());
  }

  private static LongAdder[] adders() {
    final LongAdder[] adders = new LongAdder[Count.values().length];
    for (int i = 0; i < adders.length; i++) {
      adders[i] = new LongAdder();
    }
    return adders;
  }

  /** Forgets an endpoint that is gone, whose policy has been removed before. */
  public synchronized void forget(int endpoint) {
    endpoints.remove(endpoint);
  }

  /** Returns what was counted for an endpoint, for each redirect that has had a flow. */
  public synchronized List<RedirectStatistics> statistics(int endpoint) {
    final EndpointCounters counters = endpoints.get(endpoint);
    if (counters == null) {
      return List.of();
    }
    final List<RedirectStatistics> all = new ArrayList<>(counters.size());
    counters.forEach((key, adders) -> all.add(statistics(key, adders)));
    return all;
  }

  private static RedirectStatistics statistics(Key key, LongAdder[] adders) {
    return new RedirectStatistics(
        key.direction(),
        key.port(),
        new Messages(
            sum(adders, Count.REQUEST_RECEIVED),
            sum(adders, Count.REQUEST_FORWARDED),
            sum(adders, Count.REQUEST_DENIED),
            sum(adders, Count.REQUEST_ERROR)),
        new Messages(
            sum(adders, Count.RESPONSE_RECEIVED),
            sum(adders, Count.RESPONSE_FORWARDED),
            0, // policy judges requests
            sum(adders, Count.RESPONSE_ERROR)));
  }

  private static long sum(LongAdder[] adders, Count count) {
    return adders[count.ordinal()].sum();
  }

  /** The counters of one flow. */
  public static final class FlowCounters {
    private final LongAdder[] client;
    private final LongAdder[] server;

    private FlowCounters(LongAdder[] client, LongAdder[] server) {
      this.client = client;
      this.server = server;
    }

    /** Counts a message for the ends whose policy redirects the flow. */
    public void add(Count count) {
      if (client != null) {
        client[count.ordinal()].increment();
      }
      if (server != null) {
        server[count.ordinal()].increment();
      }
    }
  }
}
