package agent.domain.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs;
import agent.conductor.Repairs.Kind;
import agent.datapath.spec.SocketPorts;
import agent.node.netfilter.MasqueradeGuard;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What health says of the rules that masquerade. */
class NodeMasqueradingTest {
  private final Faults faults = new Faults("fine");
  private final Repairs repairs = new Repairs();
  private final MasqueradeGuard.Observer observer = NodeMasquerading.observer(faults, repairs);

  private long repaired() {
    final long[] found = new long[1];
    repairs.forEach((kind, count) -> found[0] += kind == Kind.NETFILTER ? count : 0);
    return found[0];
  }

  @Test
  void shouldFailWhileRulesCannotBeInstalled() {
    observer.failed("nft: no");
    assertEquals(Level.STOPPED, faults.read().level());
    assertEquals("nft: no", faults.read().message());
    assertEquals(0, repaired());
    observer.inOrder();
    assertEquals(Level.OK, faults.read().level());
  }

  @Test
  void shouldWarnWhileThePortsOfSocketsAreNotThoseOfTheStart() {
    final SocketPorts start = SocketPorts.parse("32768\t60999");
    NodeMasquerading.compare(faults, start, SocketPorts.parse("32768 60999"));
    assertEquals(Level.OK, faults.read().level());
    for (final String other : List.of("32768 60998", "32767 60999", "10000 20000")) {
      NodeMasquerading.compare(faults, start, SocketPorts.parse(other));
      assertEquals(Level.DEGRADED, faults.read().level());
      assertEquals(
          "net.ipv4.ip_local_port_range was changed: masquerading reserves ports 32768 to 60999 for"
              + " sockets of the node, which now use %s; restart the agent to apply it"
                  .formatted(other.replace(" ", " to ")),
          faults.read().message());
    }
    NodeMasquerading.compare(faults, start, start);
    assertEquals(Level.OK, faults.read().level());
  }

  @Test
  void shouldWarnAndCountWhatWasRepairedUntilItIsFoundInOrder() {
    observer.repaired("the chain was gone");
    assertEquals(Level.DEGRADED, faults.read().level());
    assertEquals("the chain was gone", faults.read().message());
    assertEquals(1, repaired());
    observer.inOrder();
    assertEquals(Level.OK, faults.read().level());
    assertEquals(1, repaired());
  }
}
