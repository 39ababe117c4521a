package agent.identity;

import agent.types.Refusal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Identities whose numbers an operator has chosen (option {@code --fixed-identity-mapping}): {@code
 * 128=dns} gives number 128 to {@code reserved:dns}. An endpoint takes it by the label {@code
 * fixed-identity=dns} of any source, and none of its other labels counts. Immutable.
 */
public final class FixedIdentities {
  /** No identity has a chosen number. */
  public static final FixedIdentities NONE = new FixedIdentities(List.of());

  /** Key of the label with which an endpoint asks for one of these identities. */
  private static final String KEY = "fixed-identity";

  private static final String FIELD = "fixed-identity-mapping";

  private final List<Identity> identities;
  private final Map<String, LabelSet> byName = new HashMap<>();

  private FixedIdentities(List<Identity> identities) {
    this.identities = List.copyOf(identities);
    for (final Identity identity : identities) {
      byName.put(identity.labels().iterator().next().key(), identity.labels());
    }
  }

  /**
   * Reads the value of the option.
   *
   * @param names a name for each number
   * @return the identities
   * @throws Refusal INVALID, of the option
   */
  public static FixedIdentities parse(Map<String, String> names) {
    final List<Identity> identities = new ArrayList<>();
    names.forEach((number, name) -> identities.add(identity(number, name)));
    for (final Identity reserved : ReservedIdentity.identities()) {
      for (final Identity fixed : identities) {
        if (fixed.labels().equals(reserved.labels())) {
          throw invalid("'" + fixed.labels() + "' is reserved identity " + reserved.id());
        }
      }
    }
    if (identities.stream().map(Identity::id).distinct().count() < identities.size()
        || identities.stream().map(Identity::labels).distinct().count() < identities.size()) {
      throw invalid("duplicate number or name");
    }
    return new FixedIdentities(identities);
  }

  private static Identity identity(String number, String name) {
    final int id = number.matches("[0-9]{1,3}") ? Integer.parseInt(number) : 0;
    if (id < Identity.FIXED_MIN || id > Identity.FIXED_MAX) {
      throw invalid(
          "'%s' is not a number from %d to %d"
              .formatted(number, Identity.FIXED_MIN, Identity.FIXED_MAX));
    }
    try {
      return new Identity(id, LabelSet.of(Label.reserved(name)));
    } catch (Refusal refusal) {
      throw invalid("'" + name + "' is not a valid name");
    }
  }

  private static Refusal invalid(String message) {
    return Refusal.invalid(FIELD, message);
  }

  /** Returns all of them. */
  public List<Identity> identities() {
    return identities;
  }

  /** Returns the labels of the identity that these labels ask for, where there is one. */
  Optional<LabelSet> askedFor(LabelSet labels) {
    return labels.stream()
        .filter(label -> label.key().equals(KEY) && byName.containsKey(label.value()))
        .map(label -> byName.get(label.value()))
        .findFirst();
  }

  Optional<Identity> find(int id) {
    return identities.stream().filter(identity -> identity.id() == id).findFirst();
  }
}
