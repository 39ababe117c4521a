package agent.domain.node;

import agent.conductor.Faults;
import agent.conductor.HealthBoard;
import agent.conductor.Repairs;
import agent.datapath.guard.PortShares;
import agent.datapath.spec.SocketPorts;
import agent.node.HostRouting;
import agent.node.NodeAddressing;
import agent.node.netfilter.MasqueradeGuard;
import agent.node.netfilter.MasqueradeGuard.Mode;
import agent.types.OperationException;
import agent.types.Refusal;
import java.util.function.Supplier;

/** What masquerades on this node: the programs, or rules where flows go through the stack. */
public final class NodeMasquerading {
  /** Name of the health module. */
  public static final String MODULE = "masquerading";

  private final boolean isOn;
  private final Supplier<HostRouting> routing;
  private final MasqueradeGuard rules;
  private final Faults faults = new Faults("masquerading is configured as desired");
  private final SocketPorts reserved = MasqueradeOptions.socketPorts();

  private NodeMasquerading(
      MasqueradeOptions options, NodeAddressing addressing, Supplier<HostRouting> routing) {
    this.isOn = options.isOn();
    this.routing = routing;
    this.rules =
        new MasqueradeGuard(
            options.rules(addressing),
            () -> options.wantsRules() && !routing.get().bypassesStack(),
            new NodePrograms());
  }

  /**
   * Installs the rules where they are wanted, and removes those of a previous run where they are
   * not.
   *
   * @param routing reads how flows are routed now
   * @throws Refusal INVALID where the rules are wanted and this node cannot have them
   */
  public static NodeMasquerading start(
      MasqueradeOptions options, NodeAddressing addressing, Supplier<HostRouting> routing) {
    final NodeMasquerading started = new NodeMasquerading(options, addressing, routing);
    try {
      started.rules.keep(observer(started.faults, new Repairs()));
    } catch (OperationException failure) {
      throw Refusal.invalid("install-iptables-rules", failure.getMessage());
    }
    return started;
  }

  /** Compares the rules with those that are wanted; for one thread, which may wait. */
  public void keep(Repairs repairs) {
    if (isOn) {
      compare(faults, reserved, MasqueradeOptions.socketPorts());
    }
    rules.keep(observer(faults, repairs));
  }

  /** Reports that ports of the node's sockets are not those that masqueraded flows leave alone. */
  static void compare(Faults faults, SocketPorts reserved, SocketPorts now) {
    if (now.equals(reserved)) {
      faults.clear(MasqueradeOptions.PORT_RANGE);
    } else {
      faults.degraded(
          MasqueradeOptions.PORT_RANGE,
          ("net.ipv4.%s was changed: masquerading reserves ports %s for sockets of the node, which"
                  + " now use %s; restart the agent to apply it")
              .formatted(MasqueradeOptions.PORT_RANGE, text(reserved), text(now)));
    }
  }

  private static String text(SocketPorts ports) {
    return ports.count() == 0
        ? "none"
        : ports.first() + " to " + (ports.first() + ports.count() - 1);
  }

  /** Returns what reports the state of the rules, and counts their repairs. */
  static MasqueradeGuard.Observer observer(Faults faults, Repairs repairs) {
    return new MasqueradeGuard.Observer() {
      @Override
      public void repaired(String found) {
        repairs.count(Repairs.Kind.NETFILTER, 1);
        faults.degraded(MODULE, found);
      }

      @Override
      public void failed(String reason) {
        faults.failed(MODULE, reason);
      }

      @Override
      public void inOrder() {
        faults.clear(MODULE);
      }
    };
  }

  /** Returns what masquerades now: rules as long as they are there. */
  public Mode mode() {
    final Mode ofRules = rules.mode();
    return isOn && ofRules == Mode.DISABLED && routing.get().bypassesStack() ? Mode.BPF : ofRules;
  }

  /** Adds what the rules refuse to the shares of ports. */
  public void addRefusals(PortShares shares) {
    shares.addRules(() -> rules.refused().overShare(), () -> rules.refused().withoutPort());
  }

  /** Returns whether masquerading is as desired. */
  public HealthBoard.Probe health() {
    return faults;
  }
}
