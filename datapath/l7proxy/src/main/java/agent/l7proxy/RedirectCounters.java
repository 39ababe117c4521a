package agent.l7proxy;

import agent.datapath.manager.spec.RedirectedFlow;
import agent.l7proxy.RedirectStatistics.Messages;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts messages by endpoint, direction and port of the server. A flow between two endpoints of
 * this node counts for both of them.
 */
final class RedirectCounters {
  /** What is counted. */
  enum Count {
    REQUEST_RECEIVED,
    REQUEST_FORWARDED,
    REQUEST_DENIED,
    REQUEST_ERROR,
    RESPONSE_RECEIVED,
    RESPONSE_FORWARDED,
    RESPONSE_ERROR
  }

  private record Key(int endpoint, boolean isIngress, int port) {}

  private final Map<Key, LongAdder[]> counters = new ConcurrentHashMap<>();

  /** Returns the counters of a flow, which its connections keep. */
  FlowCounters of(RedirectedFlow flow) {
    final LongAdder[] client =
        flow.clientEndpoint() == 0
            ? null
            : adders(new Key(flow.clientEndpoint(), false, flow.serverPort()));
    final LongAdder[] server =
        flow.serverEndpoint() == 0
            ? null
            : adders(new Key(flow.serverEndpoint(), true, flow.serverPort()));
    return new FlowCounters(client, server);
  }

  private LongAdder[] adders(Key key) {
    return counters.computeIfAbsent(
        key,
        unused -> {
          final LongAdder[] adders = new LongAdder[Count.values().length];
          for (int i = 0; i < adders.length; i++) {
            adders[i] = new LongAdder();
          }
          return adders;
        });
  }

  void forget(int endpoint) {
    counters.keySet().removeIf(key -> key.endpoint() == endpoint);
  }

  List<RedirectStatistics> snapshot() {
    final List<RedirectStatistics> all = new ArrayList<>();
    counters.forEach(
        (key, adders) ->
            all.add(
                new RedirectStatistics(
                    key.endpoint(),
                    key.isIngress(),
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
                        sum(adders, Count.RESPONSE_ERROR)))));
    return all;
  }

  private static long sum(LongAdder[] adders, Count count) {
    return adders[count.ordinal()].sum();
  }

  /** The counters of one flow. */
  static final class FlowCounters {
    private final LongAdder[] client;
    private final LongAdder[] server;

    private FlowCounters(LongAdder[] client, LongAdder[] server) {
      this.client = client;
      this.server = server;
    }

    void add(Count count) {
      if (client != null) {
        client[count.ordinal()].increment();
      }
      if (server != null) {
        server[count.ordinal()].increment();
      }
    }
  }
}
