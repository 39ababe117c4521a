package agent.policy;

import agent.identity.CidrIdentityAllocator;
import agent.identity.Identity;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The names by which rules select addresses: those of DNS and those of services. */
final class PeerNames {
  private final NameReferences<String, FqdnSelector> dns;
  private final NameReferences<ServiceName, ServiceSelector> services;

  PeerNames(
      CidrIdentityAllocator allocator,
      Map<String, ? extends Collection<IpAddress>> dns,
      Map<ServiceName, ? extends Collection<IpAddress>> services) {
    this.dns = new NameReferences<>(FqdnSelector.class, allocator, dns);
    this.services = new NameReferences<>(ServiceSelector.class, allocator, services);
  }

  NameReferences<String, FqdnSelector> dns() {
    return dns;
  }

  NameReferences<ServiceName, ServiceSelector> services() {
    return services;
  }

  /** Returns every address that names of these rules have. */
  Set<Prefix> prefixesOf(List<Rule> rules) {
    final Set<Prefix> all = new TreeSet<>(dns.prefixesOf(rules));
    all.addAll(services.prefixesOf(rules));
    return all;
  }

  /** Takes the references of rules, all or none. */
  void acquire(List<Rule> rules) {
    dns.acquire(rules);
    try {
      services.acquire(rules);
    } catch (Refusal refusal) {
      dns.drop(rules);
      dns.release();
      throw refusal;
    }
  }

  /** Ends the use by rules; {@link #release} gives the references back. */
  void drop(List<Rule> rules) {
    dns.drop(rules);
    services.drop(rules);
  }

  /** Gives back the references that are not needed any more. */
  void release() {
    dns.release();
    services.release();
  }

  /** Returns the identities of a selector's addresses. */
  Set<Integer> identitiesOf(NamedSelector<?> selector) {
    return switch (selector) {
      case FqdnSelector names -> dns.identitiesOf(names);
      case ServiceSelector names -> services.identitiesOf(names);
    };
  }

  /**
   * Returns whether an identity is that of an address which the selector has now; any thread may
   * call.
   */
  boolean selects(NamedSelector<?> selector, Identity identity) {
    return switch (selector) {
      case FqdnSelector names -> dns.selects(names, identity);
      case ServiceSelector names -> services.selects(names, identity);
    };
  }
}
