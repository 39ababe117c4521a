package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.manager.guard.Faults;
import agent.datapath.manager.guard.Repairs;
import agent.datapath.manager.guard.Repairs.Kind;
import agent.datapath.manager.spec.ModuleHealth.Level;
import agent.node.netfilter.MasqueradeGuard;
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
