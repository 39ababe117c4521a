package agent.policy;

import agent.identity.Label;
import agent.types.ServiceName;

/**
 * Selects the addresses of the backends of the services that have a name. Endpoints and nodes are
 * never selected, since rules mean them by their identities.
 *
 * @param service the name
 */
record ServiceSelector(ServiceName service) implements NamedSelector<ServiceName> {
  @Override
  public boolean matches(ServiceName name) {
    return service.equals(name);
  }

  @Override
  public ServiceName onlyName() {
    return service;
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
