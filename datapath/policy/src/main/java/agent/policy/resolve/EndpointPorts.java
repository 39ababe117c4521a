package agent.policy.resolve;

import agent.policy.rule.PortMatch;
import agent.policy.rule.PortName;
import agent.policy.spec.NamedPort;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The named ports of endpoints by the identity by which they are peers. An endpoint that gets
 * another identity counts among both until the datapath uses the former one no more, so that what
 * both allow is not dropped meanwhile. Where endpoints of one identity give a name to different
 * ports, the identity has all of them.
 */
public final class EndpointPorts implements PolicyResolver.PeerPorts {
  private static final List<PortMatch> NONE = List.of();

  private final Map<Integer, Map<Integer, List<NamedPort>>> byEndpoint = new HashMap<>();

  /** Name to identity to port to the number of endpoints that have it. */
  private final Map<String, TreeMap<Integer, TreeMap<PortMatch, Integer>>> byName = new HashMap<>();

  /** Returns the ports of an endpoint by identity, for {@link #put}. */
  public Map<Integer, List<NamedPort>> of(int endpoint) {
    return byEndpoint.getOrDefault(endpoint, Map.of());
  }

  /**
   * Sets the ports of an endpoint under an identity, in place of those that it has under this one.
   *
   * @return the names that mean other ports now
   */
  public Set<String> set(int endpoint, int identity, List<NamedPort> ports) {
    final Map<Integer, List<NamedPort>> next = new LinkedHashMap<>(of(endpoint));
    next.put(identity, ports);
    return put(endpoint, next);
  }

  /**
   * Leaves an endpoint the ports under its present identity alone.
   *
   * @return the names that mean other ports now
   */
  public Set<String> leaveFormer(int endpoint, int identity) {
    final Map<Integer, List<NamedPort>> next = new HashMap<>(of(endpoint));
    next.keySet().retainAll(Set.of(identity));
    return put(endpoint, next);
  }

  /**
   * Replaces the ports of an endpoint.
   *
   * @param ports by identity; empty for none
   * @return the names that mean other ports now
   */
  public Set<String> put(int endpoint, Map<Integer, List<NamedPort>> ports) {
    final Map<Integer, List<NamedPort>> before = of(endpoint);
    if (before.equals(ports)) {
      return Set.of();
    }
    final Set<String> names = new HashSet<>();
    before.values().forEach(list -> list.forEach(port -> names.add(port.name())));
    ports.values().forEach(list -> list.forEach(port -> names.add(port.name())));
    final Map<String, Map<Integer, Set<PortMatch>>> meant = new HashMap<>();
    names.forEach(name -> meant.put(name, meaning(name)));
    before.forEach((identity, list) -> list.forEach(port -> count(identity, port, -1)));
    ports.forEach((identity, list) -> list.forEach(port -> count(identity, port, 1)));
    if (ports.isEmpty()) {
      byEndpoint.remove(endpoint);
    } else {
      byEndpoint.put(endpoint, Map.copyOf(ports));
    }
    names.removeIf(name -> meaning(name).equals(meant.get(name)));
    return names;
  }

  private void count(int identity, NamedPort port, int difference) {
    final TreeMap<Integer, TreeMap<PortMatch, Integer>> identities =
        byName.computeIfAbsent(port.name(), name -> new TreeMap<>());
    final TreeMap<PortMatch, Integer> ports =
        identities.computeIfAbsent(identity, number -> new TreeMap<>());
    final int users = ports.merge(PortName.match(port), difference, Integer::sum);
    if (users == 0) {
      ports.remove(PortName.match(port));
    }
    if (ports.isEmpty()) {
      identities.remove(identity);
    }
    if (identities.isEmpty()) {
      byName.remove(port.name());
    }
  }

  private Map<Integer, Set<PortMatch>> meaning(String name) {
    final Map<Integer, Set<PortMatch>> meaning = new HashMap<>();
    byName
        .getOrDefault(name, new TreeMap<>())
        .forEach((identity, ports) -> meaning.put(identity, Set.copyOf(ports.keySet())));
    return meaning;
  }

  @Override
  public Collection<Integer> identitiesWith(PortName name) {
    final TreeMap<Integer, ?> identities = byName.get(name.name());
    return identities == null ? List.of() : identities.keySet();
  }

  @Override
  public List<PortMatch> portsOf(int identity, PortName name) {
    final TreeMap<Integer, TreeMap<PortMatch, Integer>> identities = byName.get(name.name());
    final TreeMap<PortMatch, Integer> ports = identities == null ? null : identities.get(identity);
    return ports == null
        ? NONE
        : ports.keySet().stream()
            .filter(port -> name.protocols().contains(port.protocol()))
            .toList();
  }
}
