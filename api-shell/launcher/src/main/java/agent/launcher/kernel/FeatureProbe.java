package agent.launcher.kernel;

import agent.domain.node.NodePrograms;
import agent.launcher.options.ServedCheck;
import agent.node.netfilter.NodeCommand;
import java.util.List;
import java.util.Optional;

/**
 * Tries a kernel feature in a network namespace that exists only during the attempt, so that
 * nothing stays and the kernel loads modules as in a real use.
 */
public final class FeatureProbe implements ServedCheck.KernelProbe {
  /** Exit codes above it are those of a program that a signal has ended. */
  private static final int KILLED = 128;

  @Override
  public Optional<String> missingSymbol(String option, String value) {
    return switch (option + "=" + value) {
      case "tunnel=geneve" ->
          tried("CONFIG_GENEVE", "ip link add probe0 type geneve id 1 remote 192.0.2.1");
      case "tunnel=vxlan" ->
          tried("CONFIG_VXLAN", "ip link add probe0 type vxlan id 1 dstport 4789");
      case "datapath-mode=ipvlan" -> ipvlan();
      case "enable-ipsec=true" ->
          tried(
              "CONFIG_INET_ESP",
              "ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 256 mode transport"
                  + " enc 'ecb(cipher_null)' ''");
      default -> option.equals("ipvlan-master-device") ? ipvlan() : Optional.empty();
    };
  }

  private static Optional<String> ipvlan() {
    return tried(
        "CONFIG_IPVLAN",
        "ip link add probe1 type veth && ip link add link probe1 name probe0 type ipvlan");
  }

  /** Returns the symbol where the kernel answers that it does not know the type. */
  private static Optional<String> tried(String symbol, String script) {
    final String answer = run(script);
    final boolean unknown =
        answer.contains("Unknown device type")
            || answer.contains("Requested type not found")
            || answer.contains("Operation not supported")
            || answer.contains("Protocol not supported");
    return unknown ? Optional.of(symbol) : Optional.empty();
  }

  private static String run(String script) {
    final NodeCommand.Result result =
        new NodePrograms().run(List.of("unshare", "--net", "--", "sh", "-c", script), "");
    if (result.status() == NodeCommand.NOT_STARTED || result.status() > KILLED) {
      throw new IllegalStateException("kernel probe '" + script + "': " + result.output());
    }
    return result.output();
  }
}
