/**
 * Supports kernel tests of all modules: packet builders, namespaces, traffic generators and the
 * condition that runs or skips them; and tests of locks by a call of another thread, and of what is
 * logged.
 */
package agent.testkit;
