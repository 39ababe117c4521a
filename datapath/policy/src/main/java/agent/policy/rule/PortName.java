package agent.policy.rule;

import agent.policy.spec.NamedPort;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * A port that a rule means by its name.
 *
 * @param name in lower case
 * @param protocols the numbers of the protocols that are meant
 */
public record PortName(String name, List<Integer> protocols) {
  private static final Map<String, Integer> NUMBERS = Map.of("TCP", 6, "UDP", 17, "SCTP", 132);

  /** Returns a named port in policy keys. */
  public static PortMatch match(NamedPort port) {
    return PortMatch.of(NUMBERS.get(port.protocol()), port.port());
  }

  /** Returns those of the ports that are meant, each once and in order. */
  public List<PortMatch> in(Collection<NamedPort> ports) {
    return ports.stream()
        .filter(port -> port.name().equals(name))
        .map(PortName::match)
        .filter(match -> protocols.contains(match.protocol()))
        .distinct()
        .sorted()
        .toList();
  }
}
