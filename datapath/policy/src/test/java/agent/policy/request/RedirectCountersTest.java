package agent.policy.request;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectCounters.Count;
import agent.policy.request.RedirectCounters.FlowCounters;
import agent.policy.request.RedirectStatistics.Messages;
import agent.types.IpAddress;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RedirectCountersTest {
  private static final int CLIENT = 7;
  private static final int SERVER = 9;
  private static final IpAddress ADDRESS = IpAddress.parse("192.0.2.1");

  private final Map<PolicyDirection, RedirectKind> redirected =
      new EnumMap<>(PolicyDirection.class);
  private final RedirectCounters counters = new RedirectCounters(new Policies(), RedirectKind.HTTP);

  private final class Policies implements RequestPolicies {
    @Override
    public HttpVerdict http(RedirectedFlow flow, HttpRequest request) {
      throw new AssertionError("counters judge nothing");
    }

    @Override
    public boolean dns(RedirectedFlow flow, String name) {
      throw new AssertionError("counters judge nothing");
    }

    @Override
    public RedirectKind redirect(RedirectedFlow flow, PolicyDirection direction) {
      return redirected.getOrDefault(direction, RedirectKind.NONE);
    }

    @Override
    public List<PolicyRedirect> redirects(int endpointId) {
      throw new AssertionError("counters need no redirect");
    }

    @Override
    public long revision() {
      throw new AssertionError("counters have no revision");
    }
  }

  private static RedirectedFlow flow(int port) {
    return new RedirectedFlow(6, ADDRESS, 40_000, 1000, CLIENT, ADDRESS, port, 1001, SERVER);
  }

  private static RedirectStatistics received(PolicyDirection direction, int port, long received) {
    return new RedirectStatistics(direction, port, new Messages(received, 0, 0, 0), Messages.NONE);
  }

  @Test
  void shouldCountEachMessageInAPlaceOfItsOwn() {
    redirected.put(PolicyDirection.EGRESS, RedirectKind.HTTP);
    final FlowCounters flow = counters.of(flow(80));
    for (final Count count : Count.values()) {
      for (int i = 0; i <= count.ordinal(); i++) {
        flow.add(count);
      }
    }
    assertEquals(
        List.of(
            new RedirectStatistics(
                PolicyDirection.EGRESS, 80, new Messages(1, 2, 3, 4), new Messages(5, 6, 0, 7))),
        counters.statistics(CLIENT));
  }

  @Test
  void shouldCountForTheEndsWhosePolicySendsTheFlowToThisProxy() {
    redirected.put(PolicyDirection.INGRESS, RedirectKind.HTTP);
    redirected.put(PolicyDirection.EGRESS, RedirectKind.DNS);
    counters.of(flow(80)).add(Count.REQUEST_RECEIVED);
    assertEquals(List.of(), counters.statistics(CLIENT));
    redirected.put(PolicyDirection.EGRESS, RedirectKind.HTTP);
    counters.of(flow(80)).add(Count.REQUEST_RECEIVED);
    redirected.remove(PolicyDirection.INGRESS);
    counters.of(flow(80)).add(Count.REQUEST_RECEIVED);
    assertEquals(List.of(received(PolicyDirection.EGRESS, 80, 2)), counters.statistics(CLIENT));
    assertEquals(List.of(received(PolicyDirection.INGRESS, 80, 2)), counters.statistics(SERVER));
  }

  @Test
  void shouldKeepNothingOfARemovedEndpoint() {
    redirected.put(PolicyDirection.INGRESS, RedirectKind.HTTP);
    redirected.put(PolicyDirection.EGRESS, RedirectKind.HTTP);
    final FlowCounters open = counters.of(flow(80));
    open.add(Count.REQUEST_RECEIVED);
    redirected.remove(PolicyDirection.EGRESS);
    counters.forget(CLIENT);
    open.add(Count.REQUEST_RECEIVED);
    counters.of(flow(80)).add(Count.REQUEST_RECEIVED);
    assertEquals(List.of(), counters.statistics(CLIENT));
    assertEquals(List.of(received(PolicyDirection.INGRESS, 80, 3)), counters.statistics(SERVER));
  }

  @Test
  void shouldKeepTheRedirectsOfTheLastFlows() {
    redirected.put(PolicyDirection.EGRESS, RedirectKind.HTTP);
    for (int i = 0; i < RedirectCounters.MOST_OF_ENDPOINT; i++) {
      counters.of(flow(1 + i)).add(Count.REQUEST_RECEIVED);
    }
    counters.of(flow(1)).add(Count.REQUEST_RECEIVED);
    counters.of(flow(1_000)).add(Count.REQUEST_RECEIVED);
    final List<RedirectStatistics> kept = counters.statistics(CLIENT);
    assertEquals(RedirectCounters.MOST_OF_ENDPOINT, kept.size());
    assertEquals(received(PolicyDirection.EGRESS, 3, 1), kept.getFirst());
    assertEquals(
        List.of(received(PolicyDirection.EGRESS, 1, 2), received(PolicyDirection.EGRESS, 1_000, 1)),
        kept.subList(kept.size() - 2, kept.size()));
  }
}
