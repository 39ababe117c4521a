package agent.dns;

import agent.types.IpAddress;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The names of an answer: the one that was asked for and the aliases that lead from it to the
 * addresses. For any thread.
 */
record AnswerNames(NamesContext context, NameCache cache, EnforcedAddresses enforced) {
  /** An address that expires later than that needs no new enforcement. */
  private static final Duration SETTLED_FOR = Duration.ofSeconds(5);

  /** Returns the names that lead to the addresses and that rules select. */
  List<String> selected(String name, NameResolver.Resolved answer) {
    return Stream.concat(Stream.of(name), answer.aliases().stream())
        .filter(FoundNames::canBeSelected)
        .filter(context.selected())
        .distinct()
        .toList();
  }

  /** Returns those of the addresses that the rules use for each of these names. */
  Set<IpAddress> applied(Collection<String> names, Set<IpAddress> addresses) {
    return addresses.stream()
        .filter(
            address ->
                names.stream().allMatch(name -> enforced.hasForCertain(name, List.of(address))))
        .collect(Collectors.toUnmodifiableSet());
  }

  /** Whether the rules use all of the addresses, and do so until the answer has been taken. */
  boolean areSettled(Collection<String> names, List<IpAddress> addresses) {
    return names.stream()
        .allMatch(
            name ->
                enforced.hasForCertain(name, addresses)
                    && cache.has(name, addresses, context.clock().instant().plus(SETTLED_FOR)));
  }
}
