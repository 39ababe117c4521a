package agent.endpoint.state;

import agent.identity.Label;
import agent.identity.LabelFilter;
import agent.identity.LabelSet;
import java.util.ArrayList;
import java.util.List;

/**
 * The labels in effect of an endpoint. A user label overrides the derived label with the same
 * source and key; the label filter then selects the identity-relevant ones.
 *
 * @param derived the labels of the create request
 * @param user the labels set by users
 * @param disabled derived labels that a user label overrides
 * @param all the labels in effect
 * @param identity the identity-relevant labels in effect
 */
public record LabelDerivation(
    LabelSet derived, LabelSet user, LabelSet disabled, LabelSet all, LabelSet identity) {

  /** Derives the labels of an endpoint. */
  public static LabelDerivation of(EndpointRecord endpoint, LabelFilter filter) {
    final LabelSet derived = LabelSet.parse("labels", endpoint.labels().derived());
    final LabelSet user = LabelSet.parse("user", endpoint.labels().user());
    final List<Label> disabled = new ArrayList<>();
    LabelSet all = derived;
    for (final Label label : user) {
      derived.stream()
          .filter(other -> !other.equals(label) && isSameName(other, label))
          .forEach(disabled::add);
      all = all.with(label);
    }
    return new LabelDerivation(
        derived, user, LabelSet.of(disabled), all, filter.split(all).identity());
  }

  private static boolean isSameName(Label one, Label other) {
    return one.source().equals(other.source()) && one.key().equals(other.key());
  }

  /** Returns the labels in display form. */
  public EndpointLabels toLabels() {
    return new EndpointLabels(
        user.toStrings(),
        user.toStrings(),
        derived.toStrings(),
        disabled.toStrings(),
        identity.toStrings());
  }
}
