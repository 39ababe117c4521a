package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.node.HostRouting.Choice;
import agent.node.HostRouting.Mode;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The choice of the way of flows, and what follows when the node changes. */
class HostRoutingTest {
  private static final List<String> NOTHING = List.of();
  private static final List<String> FIREWALL = List.of("a firewall", "a rule", "a policy");

  private List<String> needs = NOTHING;
  private final List<Boolean> routed = new ArrayList<>();
  private CompletableFuture<Void> answer = CompletableFuture.completedFuture(null);

  private CompletableFuture<Void> route(boolean bypassesStack) {
    routed.add(bypassesStack);
    return answer;
  }

  @Test
  void shouldBypassTheStackWhereNothingNeedsIt() {
    assertEquals(
        new HostRouting(Mode.BPF, "nothing on this node requires the network stack", false),
        HostRouting.choose(Choice.AUTO, NOTHING));
    assertTrue(HostRouting.choose(Choice.AUTO, NOTHING).bypassesStack());
  }

  @Test
  void shouldLeaveFlowsToTheStackWhereSomethingNeedsItAndSayWhat() {
    assertEquals(
        new HostRouting(Mode.LEGACY, "a firewall, and 2 more", false),
        HostRouting.choose(Choice.AUTO, FIREWALL));
    assertEquals("a rule", HostRouting.choose(Choice.AUTO, List.of("a rule")).reason());
    assertFalse(HostRouting.choose(Choice.AUTO, FIREWALL).bypassesStack());
  }

  @Test
  void shouldObeyTheOptionAndDoubtAByPassOfWhatIsThere() {
    for (final List<String> either : List.of(NOTHING, FIREWALL)) {
      assertEquals(
          new HostRouting(Mode.LEGACY, "--host-routing=legacy", false),
          HostRouting.choose(Choice.LEGACY, either));
    }
    assertEquals(
        new HostRouting(Mode.BPF, "--host-routing=bpf", false),
        HostRouting.choose(Choice.BPF, NOTHING));
    assertEquals(
        new HostRouting(Mode.BPF, "--host-routing=bpf, flows bypass: a firewall, and 2 more", true),
        HostRouting.choose(Choice.BPF, FIREWALL));
  }

  @Test
  void shouldHaveTheValuesOfTheContract() {
    assertEquals("BPF", Mode.BPF.text());
    assertEquals("Legacy", Mode.LEGACY.text());
    for (final Choice choice : Choice.values()) {
      assertEquals(choice, Choice.parse("host-routing", choice.name().toLowerCase()));
    }
    final Refusal refusal = assertThrows(Refusal.class, () -> Choice.parse("host-routing", "AUTO"));
    assertTrue(refusal.getMessage().contains("host-routing"), refusal.getMessage());
  }

  @Test
  void shouldRouteOtherwiseOnlyWhenTheModeChanges() {
    final HostRoutingWatch watch = new HostRoutingWatch(Choice.AUTO, () -> needs);
    assertEquals(Mode.BPF, watch.current().mode());
    watch.poll(this::route);
    assertEquals(NOTHING, routed, "the datapath starts so");
    needs = FIREWALL;
    watch.poll(this::route);
    watch.poll(this::route);
    assertEquals(List.of(false), routed);
    assertEquals("a firewall, and 2 more", watch.current().reason());
    needs = List.of("a rule");
    watch.poll(this::route);
    assertEquals("a rule", watch.current().reason());
    assertEquals(List.of(false), routed, "the mode stays");
    needs = NOTHING;
    watch.poll(this::route);
    assertEquals(List.of(false, true), routed);
  }

  @Test
  void shouldTryAgainWhatTheDatapathRefuses() {
    final HostRoutingWatch watch = new HostRoutingWatch(Choice.AUTO, () -> needs);
    needs = FIREWALL;
    answer = CompletableFuture.failedFuture(new OperationException("map endpoints: EPERM"));
    watch.poll(this::route);
    assertEquals(List.of(false), routed);
    answer = new CompletableFuture<>();
    watch.poll(this::route);
    watch.poll(this::route);
    assertEquals(List.of(false, false), routed, "one at a time");
    answer.complete(null);
    watch.poll(this::route);
    assertEquals(List.of(false, false), routed);
    needs = NOTHING;
    watch.poll(this::route);
    assertEquals(List.of(false, false, true), routed);
  }
}
