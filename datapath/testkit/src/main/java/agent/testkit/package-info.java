/**
 * Supports kernel tests of all modules: packet builders, namespaces, traffic generators and the
 * condition that runs or skips them.
 */
package agent.testkit;
