"""Every page and action of the portal, as one table: the frame serves it and the tests walk it."""

from strongroom.portal.page import Page
from strongroom.portal.pages import (
    account,
    documentation,
    factors,
    home,
    keys,
    operator,
    organisation,
    playground,
    products,
    reset,
    second_factor,
    security,
    sign_in,
    sign_up,
    static,
    subscriptions,
)

ALL: tuple[Page, ...] = (
    *home.PAGES,
    *sign_up.PAGES,
    *sign_in.PAGES,
    *second_factor.PAGES,
    *reset.PAGES,
    *account.PAGES,
    *security.PAGES,
    *factors.PAGES,
    *products.PAGES,
    *organisation.PAGES,
    *subscriptions.PAGES,
    *keys.PAGES,
    *operator.PAGES,
    *documentation.PAGES,
    *playground.PAGES,
    *static.PAGES,
)
