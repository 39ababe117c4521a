package agent.policy.rule;

import agent.identity.Label;
import agent.types.ServiceName;
import java.util.regex.Pattern;

/**
 * Selects the addresses of the backends of the services that have a name. Endpoints and nodes are
 * never selected, since rules mean them by their identities.
 *
 * @param service the name
 */
public record ServiceSelector(ServiceName service) implements NamedSelector<ServiceName> {
  /** Names of DNS labels and subdomains (RFC 1123), which hold no '/'. */
  private static final Pattern LABEL = Pattern.compile("[-._A-Za-z0-9]{1,253}");

  @Override
  public boolean matches(ServiceName name) {
    return service.equals(name);
  }

  @Override
  public ServiceName onlyName() {
    return service;
  }

  @Override
  public boolean hasLabel() {
    return LABEL.matcher(service.name()).matches()
        && (service.namespace().isEmpty() || LABEL.matcher(service.namespace()).matches());
  }

  @Override
  public Label label() {
    return new Label(Label.SERVICE, service.toString(), "");
  }

  @Override
  public String text() {
    return "service " + service;
  }
}
