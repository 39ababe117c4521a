package agent.policy.rule;

import agent.identity.Label;

/**
 * Selects the addresses of DNS names.
 *
 * @param pattern the names
 */
public record FqdnSelector(NamePattern pattern) implements NamedSelector<String> {
  @Override
  public boolean matches(String name) {
    return pattern.matches(name);
  }

  @Override
  public String onlyName() {
    return pattern.isName() ? pattern.toString() : null;
  }

  @Override
  public boolean hasLabel() {
    return true;
  }

  @Override
  public Label label() {
    return new Label(Label.FQDN, text(), "");
  }

  @Override
  public String text() {
    return pattern.toString();
  }
}
