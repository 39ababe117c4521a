package agent.policy.reference;

import agent.identity.Identity;
import agent.policy.rule.FqdnSelector;
import agent.policy.rule.NamedSelector;
import agent.policy.rule.Rule;
import agent.policy.rule.ServiceSelector;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The names by which rules select addresses: those of DNS and those of services. */
public final class PeerNames {
  private final NamedAddresses addresses;
  private final NameReferences<String, FqdnSelector> dns;
  private final NameReferences<ServiceName, ServiceSelector> services;

  /** Creates references to names that have these addresses. */
  public PeerNames(
      NamedAddresses addresses,
      Map<String, ? extends Collection<IpAddress>> dns,
      Map<ServiceName, ? extends Collection<IpAddress>> services) {
    this.addresses = addresses;
    this.dns = new NameReferences<>(FqdnSelector.class, addresses, dns);
    this.services = new NameReferences<>(ServiceSelector.class, addresses, services);
  }

  /** Returns the names of DNS. */
  public NameReferences<String, FqdnSelector> dns() {
    return dns;
  }

  /** Returns the names of services. */
  public NameReferences<ServiceName, ServiceSelector> services() {
    return services;
  }

  /**
   * Acquires the references of rules, all or none.
   *
   * @param former the numbers that addresses had in the previous run, which they keep
   */
  public void acquire(List<Rule> rules, Map<Prefix, Integer> former) {
    final NamedAddresses.Moves moves = new NamedAddresses.Moves();
    rules.forEach(rule -> addresses.use(rule.prefixes(), moves));
    dns.acquire(rules, moves);
    services.acquire(rules, moves);
    try {
      addresses.apply(moves, former);
    } catch (Refusal refusal) {
      drop(rules);
      throw refusal;
    }
  }

  /** Ends the use by rules; {@link NamedAddresses#release} gives the references back. */
  public void drop(List<Rule> rules) {
    dns.drop(rules);
    services.drop(rules);
    rules.forEach(rule -> addresses.drop(rule.prefixes()));
  }

  /** Returns the identities of a selector's addresses. */
  public Set<Integer> identitiesOf(NamedSelector<?> selector) {
    return switch (selector) {
      case FqdnSelector names -> dns.identitiesOf(names);
      case ServiceSelector names -> services.identitiesOf(names);
    };
  }

  /**
   * Returns whether an identity is that of addresses which the selector has now; any thread may
   * call.
   */
  public boolean selects(NamedSelector<?> selector, Identity identity) {
    return switch (selector) {
      case FqdnSelector names -> dns.selects(names, identity);
      case ServiceSelector names -> services.selects(names, identity);
    };
  }
}
