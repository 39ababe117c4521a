package agent.endpoint;

import agent.identity.Label;
import agent.identity.LabelFilter;
import agent.identity.LabelSet;
import java.util.ArrayList;
import java.util.List;

/**
 * What the labels of an endpoint come to. A user label takes the place of the derived one with the
 * same source and key; the label filter then says which labels make the identity.
 *
 * @param derived the labels that came with the endpoint
 * @param user the labels that users set
 * @param disabled derived labels whose place a user label took
 * @param all the labels in effect
 * @param identity those of them that make the identity
 */
record LabelDerivation(
    LabelSet derived, LabelSet user, LabelSet disabled, LabelSet all, LabelSet identity) {

  static LabelDerivation of(EndpointRecord endpoint, LabelFilter filter) {
    final LabelSet derived = LabelSet.parse("labels", endpoint.labels());
    final LabelSet user = LabelSet.parse("user", endpoint.userLabels());
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

  EndpointLabels toLabels() {
    return new EndpointLabels(
        user.toStrings(),
        user.toStrings(),
        derived.toStrings(),
        disabled.toStrings(),
        identity.toStrings());
  }
}
