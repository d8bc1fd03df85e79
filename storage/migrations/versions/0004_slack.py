"""Slack: which workspaces have installed the app, as slack_sdk's stores keep it."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "slack_bots",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("client_id", sa.String(32), nullable=False),
        sa.Column("app_id", sa.String(32), nullable=False),
        sa.Column("enterprise_id", sa.String(32), nullable=True),
        sa.Column("enterprise_name", sa.String(200), nullable=True),
        sa.Column("team_id", sa.String(32), nullable=True),
        sa.Column("team_name", sa.String(200), nullable=True),
        sa.Column("bot_token", sa.String(200), nullable=True),
        sa.Column("bot_id", sa.String(32), nullable=True),
        sa.Column("bot_user_id", sa.String(32), nullable=True),
        sa.Column("bot_scopes", sa.String(1000), nullable=True),
        sa.Column("bot_refresh_token", sa.String(200), nullable=True),
        sa.Column("bot_token_expires_at", sa.DateTime(), nullable=True),
        sa.Column("is_enterprise_install", sa.Boolean(), nullable=False),
        sa.Column("installed_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slack_bots")),
    )
    op.create_index(
        "slack_bots_idx",
        "slack_bots",
        ["client_id", "enterprise_id", "team_id", "installed_at"],
        unique=False,
    )
    op.create_table(
        "slack_installations",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("client_id", sa.String(32), nullable=False),
        sa.Column("app_id", sa.String(32), nullable=False),
        sa.Column("enterprise_id", sa.String(32), nullable=True),
        sa.Column("enterprise_name", sa.String(200), nullable=True),
        sa.Column("enterprise_url", sa.String(200), nullable=True),
        sa.Column("team_id", sa.String(32), nullable=True),
        sa.Column("team_name", sa.String(200), nullable=True),
        sa.Column("bot_token", sa.String(200), nullable=True),
        sa.Column("bot_id", sa.String(32), nullable=True),
        sa.Column("bot_user_id", sa.String(32), nullable=True),
        sa.Column("bot_scopes", sa.String(1000), nullable=True),
        sa.Column("bot_refresh_token", sa.String(200), nullable=True),
        sa.Column("bot_token_expires_at", sa.DateTime(), nullable=True),
        sa.Column("is_enterprise_install", sa.Boolean(), nullable=False),
        sa.Column("installed_at", sa.DateTime(), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("user_token", sa.String(200), nullable=True),
        sa.Column("user_scopes", sa.String(1000), nullable=True),
        sa.Column("user_refresh_token", sa.String(200), nullable=True),
        sa.Column("user_token_expires_at", sa.DateTime(), nullable=True),
        sa.Column("incoming_webhook_url", sa.String(200), nullable=True),
        sa.Column("incoming_webhook_channel", sa.String(200), nullable=True),
        sa.Column("incoming_webhook_channel_id", sa.String(200), nullable=True),
        sa.Column("incoming_webhook_configuration_url", sa.String(200), nullable=True),
        sa.Column("token_type", sa.String(32), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slack_installations")),
    )
    op.create_index(
        "slack_installations_idx",
        "slack_installations",
        ["client_id", "enterprise_id", "team_id", "user_id", "installed_at"],
        unique=False,
    )
    op.create_table(
        "slack_oauth_states",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("state", sa.String(200), nullable=False),
        sa.Column("expire_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slack_oauth_states")),
    )


def downgrade() -> None:
    raise NotImplementedError("restore the copy from before the upgrade instead")
