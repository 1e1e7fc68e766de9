/** The format of event names and of parameter names. */
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,39}$/;
const RESERVED_PREFIX = /^(?:firebase|ga|google)_/;

/** Google Analytics silently drops these, or accepts them from apps only. */
const RESERVED_EVENTS: ReadonlySet<string> = new Set(
  `ad_activeview ad_click ad_exposure ad_impression ad_query ad_reward adunit_exposure app_background app_clear_data
  app_exception app_install app_remove app_store_refund app_store_subscription_cancel app_store_subscription_convert
  app_store_subscription_renew app_update app_upgrade dynamic_link_app_open dynamic_link_app_update
  dynamic_link_first_open error first_open first_visit in_app_purchase notification_dismiss notification_foreground
  notification_open notification_receive notification_send os_update screen_view session_start
  session_start_with_rollout user_engagement`.split(/\s+/),
);

export function isEventName(name: string): boolean {
  return isParameterName(name) && !RESERVED_EVENTS.has(name);
}

export function isParameterName(name: string): boolean {
  return NAME.test(name) && !RESERVED_PREFIX.test(name);
}
